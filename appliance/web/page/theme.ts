// Light and dark: as the system says, unless the reader chose. The choice is kept in this browser.

import { signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'coldiron-theme';
export const theme = signal<Theme>('system');

export function startTheme(): void {
  const kept = read();
  setTheme(THEMES.find((name) => name === kept) ?? 'system');
}

export function setTheme(chosen: Theme): void {
  theme.value = chosen;
  document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Storage may be forbidden; then the choice lasts as long as the page.
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
