// Memory and processor time of a process: proc(5).

import { readdirSync, readFileSync } from 'node:fs';

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

/** The processes that its threads started and that have not ended. None when it has ended itself. */
export function childrenOf(pid: number): number[] {
  const threads = orNone(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  return threads.flatMap((thread) => {
    const text = orNone(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')) ?? '';
    return text
      .split(' ')
      .filter((word) => word !== '')
      .map(Number);
  });
}

/** With everything it started that still runs: nginx works in processes of its own. */
export const cpuSecondsOfTree = (pid: number): number =>
  [pid, ...childrenOf(pid)].reduce((sum, each) => sum + (orNone(() => cpuSecondsOf(each)) ?? 0), 0);

/** A process can end between two reads. */
function orNone<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Processor time of this process, all threads. */
export function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
