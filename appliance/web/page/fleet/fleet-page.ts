// The fleet.

import type { VNode } from 'preact';
import { html } from '../html.ts';

export const FleetPage = (): VNode => html`<h1>Fleet</h1>`;
