// The files of packages that the page loads. Nothing else of a package is served.

/** Bare module names of the page, and the file of the package that they stand for. */
export const PACKAGE_MODULES: Readonly<Record<string, string>> = {
  preact: 'preact/dist/preact.mjs',
  'preact/hooks': 'preact/hooks/dist/hooks.mjs',
  htm: 'htm/dist/htm.mjs',
  '@preact/signals': '@preact/signals/dist/signals.mjs',
  'js-yaml': 'js-yaml/dist/js-yaml.mjs',
  'qrcode-generator': 'qrcode-generator/dist/qrcode.mjs',
  '@preact/signals-core': '@preact/signals-core/dist/signals-core.mjs',
};

/** Other files of packages: styles, WebAssembly. Served below `npm/`. */
export const PACKAGE_FILES: readonly string[] = [];
