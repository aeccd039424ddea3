// Severity and text of a sensor state.

export type Severity = 'ok' | 'warning' | 'critical';

export interface SensorState {
  readonly words: string;
  readonly severity: Severity;
}

export const ok = (words: string): SensorState => ({ words, severity: 'ok' });
export const warning = (words: string): SensorState => ({ words, severity: 'warning' });
export const critical = (words: string): SensorState => ({ words, severity: 'critical' });

export type States = readonly (SensorState | undefined)[];
