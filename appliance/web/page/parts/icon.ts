// Icons of the page: paths on a grid of 16. Each stands beside a word, or its button has a label.

import { h, type VNode } from 'preact';

const PATHS = {
  anvil: 'M1 4h4V3h10v2c-2 0-4 1-4 3v1c0 1 1 2 2 2v2H4v-2c1 0 2-1 2-2-3 0-5-2-5-5z',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zm3.4 7.9 3.6 3.6',
  check: 'm3 8.5 3.2 3.2L13 4.8',
  cross: 'm4 4 8 8m0-8-8 8',
  circle: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3z',
  dot: 'M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  half: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3zm0 0v10',
  warning: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.2m0 1.6v.4',
  minus: 'M3.5 8h9',
  chevron: 'm4.5 6.5 3.5 3.5 3.5-3.5',
  right: 'm6.5 4.5 3.5 3.5-3.5 3.5',
  left: 'm9.5 4.5-3.5 3.5 3.5 3.5',
  copy: 'M6 6h7v7H6zM10 6V3H3v7h3',
  user: 'M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8zm-5 6c.4-2.8 2.4-4 5-4s4.6 1.2 5 4',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.5',
  list: 'M2.5 4h11m-11 4h11m-11 4h11',
  rack: 'M3.5 2h9v12h-9zm0 4h9m-9 4h9M5.5 4h.4m-.4 4h.4m-.4 4h.4',
  scan: 'M2.5 5.5v-3h3m5 0h3v3m0 5v3h-3m-5 0h-3v-3M2.5 8h11',
  network: 'M6 2.5h4v3H6zM1.5 10.5h4v3h-4zm9 0h4v3h-4zM8 5.5V8M3.5 10.5V8h9v2.5',
  file: 'M4 2h5l3 3v9H4zm5 0v3h3',
  bolt: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z',
  terminal: 'M2 3.5h12v9H2zm2.5 2.7L6.6 8l-2.1 1.8M8 10.5h3',
  more: 'M3.5 8h.1m4.4 0h.1m4.4 0h.1',
  lock: 'M4 7.5h8v6H4zm1.8 0V5.2a2.2 2.2 0 0 1 4.4 0v2.3',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.6M13 2.5V5h-2.5',
  signal: 'M8 12.5v.1M5.5 10a3.6 3.6 0 0 1 5 0M3.2 7.5a7 7 0 0 1 9.6 0',
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration only: assistive technology reads the word beside it. */
export const icon = (name: IconName, kind: 'line' | 'solid' = 'line'): VNode =>
  h('svg', { class: `icon ${kind}`, viewBox: '0 0 16 16', 'aria-hidden': 'true' }, h('path', { d: PATHS[name] }));
