// One node.

import type { VNode } from 'preact';
import { html } from '../html.ts';

export const NodePage = ({ params }: { params: Readonly<Record<string, string>> }): VNode =>
  html`<h1>${params.node}</h1>`;
