// Templates of the page: htm on preact. Every string in them passes `visible`, so text from machines cannot disguise itself.

import htm from 'htm';
import { type ComponentChildren, h, type VNode } from 'preact';
import { visible, visibleLines } from './text.ts';

export type Child = ComponentChildren;

/** Elements in which line feeds and tabs are layout. */
const SEVERAL_LINES = new Set(['pre', 'textarea', 'code']);
/** Attributes that are read by people. */
const SPOKEN = ['title', 'aria-label', 'placeholder', 'alt'];

type Props = Record<string, unknown> | null;

function safely(type: unknown, props: Props, ...children: unknown[]): VNode {
  if (typeof type !== 'string') return h(type as never, props as never, ...(children as never[]));
  const shown = SEVERAL_LINES.has(type) ? visibleLines : visible;
  const text = (child: unknown): unknown =>
    typeof child === 'string' ? shown(child) : Array.isArray(child) ? child.map(text) : child;
  for (const name of SPOKEN) {
    const value = props?.[name];
    if (props && typeof value === 'string') props[name] = visibleLines(value);
  }
  return h(type, props as never, ...(children.map(text) as never[]));
}

const bound = htm.bind(safely as never) as (strings: TemplateStringsArray, ...values: unknown[]) => unknown;

export function html(strings: TemplateStringsArray, ...values: unknown[]): VNode {
  return bound(strings, ...values) as VNode;
}

/** Class names of what is true. */
export const classes = (...names: readonly (string | false | null | undefined)[]): string =>
  names.filter(Boolean).join(' ');
