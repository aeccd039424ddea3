// IPMI v2.0 tables 42-2 and 42-3: the meaning and severity of the numbered states of a sensor.

import { SENSOR_TYPES } from './sensor-types.ts';
import { critical, ok, type SensorState, type States, warning } from './severity.ts';

/** Event type 6F: the sensor type defines the states. */
const SENSOR_SPECIFIC = 0x6f;

/** Table 42-2: states with the same meaning for every sensor of that event type. */
const GENERIC_STATES: Readonly<Record<number, States>> = {
  1: [
    warning('lower non-critical, going low'),
    warning('lower non-critical, going high'),
    critical('lower critical, going low'),
    critical('lower critical, going high'),
    critical('lower non-recoverable, going low'),
    critical('lower non-recoverable, going high'),
    warning('upper non-critical, going low'),
    warning('upper non-critical, going high'),
    critical('upper critical, going low'),
    critical('upper critical, going high'),
    critical('upper non-recoverable, going low'),
    critical('upper non-recoverable, going high'),
  ],
  2: [ok('idle'), ok('active'), ok('busy')],
  3: [ok('state not asserted'), ok('state asserted')],
  4: [ok('no failure predicted'), warning('failure predicted')],
  5: [ok('limit not exceeded'), warning('limit exceeded')],
  6: [ok('performance as expected'), warning('performance lags')],
  7: [
    ok('OK'),
    warning('non-critical, was OK'),
    critical('critical, was less severe'),
    critical('non-recoverable, was less severe'),
    warning('non-critical, was more severe'),
    critical('critical, was non-recoverable'),
    critical('non-recoverable'),
    ok('monitor'),
    ok('informational'),
  ],
  8: [ok('absent'), ok('present')],
  9: [ok('disabled'), ok('enabled')],
  10: [
    ok('running'),
    ok('in test'),
    ok('powered off'),
    ok('on line'),
    warning('off line'),
    ok('off duty'),
    warning('degraded'),
    ok('saving power'),
    critical('installation error'),
  ],
  11: [
    ok('fully redundant'),
    warning('redundancy lost'),
    warning('redundancy degraded'),
    warning('not redundant, resources suffice, was redundant'),
    warning('not redundant, resources suffice again'),
    critical('not redundant, resources do not suffice'),
    warning('redundancy degraded, was full'),
    warning('redundancy degraded, was none'),
  ],
  12: [ok('power state D0'), ok('power state D1'), ok('power state D2'), ok('power state D3')],
};

/** `other` if IPMI has no name for it: OEM types. */
export const sensorKind = (sensorType: number): string => SENSOR_TYPES[sensorType]?.kind ?? 'other';

/** Null: a vendor-specific state, or one that IPMI does not define. */
export function sensorState(sensorType: number, eventType: number, offset: number): SensorState | null {
  const states = eventType === SENSOR_SPECIFIC ? SENSOR_TYPES[sensorType]?.states : GENERIC_STATES[eventType];
  return states?.[offset] ?? null;
}
