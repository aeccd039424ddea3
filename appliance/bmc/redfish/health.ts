// Redfish's Health (DSP2046, "Status") and the severity of a log entry, which has the same three values.

export type Health = 'ok' | 'warning' | 'critical' | 'unknown';

const HEALTHS: ReadonlyMap<string | null, Health> = new Map([
  ['OK', 'ok'],
  ['Warning', 'warning'],
  ['Critical', 'critical'],
]);

export const healthOf = (word: string | null): Health => HEALTHS.get(word) ?? 'unknown';
