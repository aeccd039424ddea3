// State and health of a node: two facts, each with an icon and a word.

import type { VNode } from 'preact';
import { classes, html } from '../html.ts';
import { type Row, STATE_TONES, type Tone } from '../live/row.ts';
import { type IconName, icon } from './icon.ts';

const TONE_ICONS: Readonly<Record<Tone, IconName>> = {
  neutral: 'minus',
  progress: 'half',
  good: 'check',
  attention: 'circle',
  bad: 'cross',
  gone: 'minus',
};

export function StateMark({ state, step }: { state: Row['state']; step?: string | null }): VNode {
  const tone = STATE_TONES[state];
  return html`<span class=${classes('state', `tone-${tone}`)}>
    ${icon(TONE_ICONS[tone])}<span>${state}${step ? html`<span class="state-step"> at ${step}</span>` : null}</span>
  </span>`;
}

const HEALTH: Readonly<Record<Row['health'], { readonly tone: Tone; readonly icon: IconName } | null>> = {
  unknown: null,
  online: { tone: 'good', icon: 'dot' },
  silent: { tone: 'attention', icon: 'signal' },
};

export function HealthMark({ health }: { health: Row['health'] }): VNode | null {
  const look = HEALTH[health];
  if (look === null) return null;
  return html`<span class=${classes('health', `tone-${look.tone}`)}>
    ${icon(look.icon, health === 'online' ? 'solid' : 'line')}<span>${health}</span>
  </span>`;
}
