// Memory and processor time of a process: proc(5).

import { readFileSync } from 'node:fs';

/** `VmRSS`: now. `VmHWM`: the maximum since its start. */
export const megabytesOf = (pid: number, field: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** USER_HZ, the same on every Linux. */
const TICKS_PER_SECOND = 100;

/** Of all its threads, in user mode and in the kernel: the 14th and 15th field of stat, counted from behind the name. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
