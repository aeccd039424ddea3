// Chromium, as Debian has it, driven by Playwright. One browser per test file; each test gets a context of its own.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { needPackages } from '../interop/packages.ts';

export type Theme = 'light' | 'dark';

export const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

export function openBrowser(): Promise<Browser> {
  needPackages(['chromium']);
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    // Root has no sandbox, and the browser must not look for its maker's servers.
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync', '--disable-extensions', '--mute-audio'],
    ],
  });
}

export interface WatchedPage {
  readonly page: Page;
  /** Violations of the content security policy, errors of scripts, and requests to other hosts: a test expects none. */
  readonly problems: string[];
  close(): Promise<void>;
}

interface PageOptions {
  readonly theme?: Theme;
  readonly size?: { readonly width: number; readonly height: number };
  readonly context?: BrowserContextOptions;
}

export async function openPage(
  browser: Browser,
  { theme = 'light', size = DESKTOP, context }: PageOptions = {},
): Promise<WatchedPage> {
  const phone = size.width < 700;
  const opened = await browser.newContext({
    viewport: size,
    colorScheme: theme,
    reducedMotion: 'reduce',
    ...(phone && { hasTouch: true, isMobile: true, deviceScaleFactor: 2 }),
    ...context,
  });
  const page = await opened.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // A refused request is an answer that the page shows.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) problems.push(message.text());
  });
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol !== 'data:' && hostname !== '127.0.0.1' && hostname !== 'localhost') problems.push(request.url());
  });
  return { page, problems, close: () => opened.close() };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Rules that axe-core finds violated, with where. It comes in over the debugger: the policy of the page blocks script tags. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  const debug = await page.context().newCDPSession(page);
  try {
    await debug.send('Runtime.evaluate', { expression: AXE });
    const { result } = await debug.send('Runtime.evaluate', {
      expression: `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
        violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, failureSummary }) =>
          id + ': ' + help + ' at ' + target.join(' ') + ' — ' + failureSummary)))`,
      awaitPromise: true,
      returnByValue: true,
    });
    if (!Array.isArray(result.value)) throw new Error(`axe-core did not run: ${JSON.stringify(result)}`);
    return result.value as string[];
  } finally {
    await debug.detach();
  }
}
