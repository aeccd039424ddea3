// The HTML document of the page: the same for every path, without anything of the site.

export interface DocumentParts {
  /** Path of the files, with their digest. */
  readonly base: string;
  /** JSON; the content security policy names its hash, so it is written as it is. */
  readonly importMap: string;
  readonly styles: readonly string[];
  readonly first: string;
  /** Modules that the browser fetches at once, instead of one import after the other. */
  readonly preloaded: readonly string[];
}

export function documentText({ base, importMap, styles, first, preloaded }: DocumentParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<title>Coldiron</title>
<link rel="icon" href="data:image/svg+xml,${ICON}">
${styles.map((name) => `<link rel="stylesheet" href="${base}/${name}">`).join('\n')}
<script type="importmap">${importMap}</script>
${preloaded.map((name) => `<link rel="modulepreload" href="${base}/${name}">`).join('\n')}
<script type="module" src="${base}/${first}"></script>
</head>
<body>
<div id="page"><p class="loading-page">Loading Coldiron …</p></div>
<noscript>This page needs JavaScript. Without it, use the command line: coldiron nodes list</noscript>
</body>
</html>
`;
}

/** An anvil. As data: one request less. */
const ICON = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#3b6fd4" d="M1 4h4V3h10v2c-2 0-4 1-4 3v1c0 1 1 2 2 2v2H4v-2c1 0 2-1 2-2-3 0-5-2-5-5z"/></svg>',
);
