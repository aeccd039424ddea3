// What every tab does with a read: loading, failed, or the content.

import type { VNode } from 'preact';
import { html } from '../../html.ts';
import { FailureNotice, Loading } from '../../parts/notices.ts';
import type { Read } from '../../use-read.ts';

export function shown<T>(read: Read<T>, what: string, content: (data: T) => VNode): VNode {
  if (read.data !== null) {
    return html`${read.failure && html`<${FailureNotice} failure=${read.failure} retry=${read.reload} />`}${content(read.data)}`;
  }
  return read.failure === null
    ? html`<${Loading} what=${what} />`
    : html`<${FailureNotice} failure=${read.failure} retry=${read.reload} />`;
}
