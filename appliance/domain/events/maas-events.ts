// What MAAS reports about a machine that it provisions. Its texts come from machines and from another system: they are bounded, and secrets
// are masked, before they are stored.

import { also, nullable, number, rowsOf, text, texts } from './event-row.ts';

const row = rowsOf('maas');

const machine = { onboarding: nullable(text), maas_system_id: text };
/** `event_id`: the id in MAAS; an event of MAAS is stored once. */
const reported = { ...machine, event_id: number, level: text, type: text, description: text, created: text };
/** `result_id`: the id in MAAS. `output`: the last lines. */
const script = {
  ...machine,
  result_id: number,
  set: text,
  script: text,
  status: text,
  exit: nullable(number),
  output: texts,
};

const said = ({ type, description }: { readonly type: string; readonly description: string }): string =>
  description === '' ? type : type === '' ? description : `${type} - ${description}`;

export const MAAS_EVENTS = {
  'maas.linked': row(
    'info',
    { ...machine, name: text, how: text, last_event: number },
    (data) => `Is provisioned by MAAS as ${data.maas_system_id} (${data.name}), which was ${data.how}`,
  ),
  'maas.event': row('info', reported, (data) => `MAAS: ${said(data)}`),
  'maas.warning': row('warning', reported, (data) => `MAAS: ${said(data)}`),
  'maas.error': row('error', reported, (data) => `MAAS: ${said(data)}`),
  'maas.result': row('info', script, (data) => `MAAS: ${data.set} script ${data.script} is ${data.status}`),
  'maas.result-failed': row(
    'error',
    script,
    (data) =>
      `MAAS: ${data.set} script ${data.script} is ${data.status}${also(data.exit, (exit) => `, exit status ${exit}`)}${also(data.output.at(-1), (line) => `: ${line}`)}`,
  ),
  'maas.asked': row(
    'info',
    { ...machine, action: text, details: texts },
    (data) => `MAAS is asked to ${data.action}${data.details.length === 0 ? '' : ` (${data.details.join(', ')})`}`,
  ),
};
