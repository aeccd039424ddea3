// The files that the appliance served, in order, from its log.

import type { LogLine } from './rack-site.ts';

export const filesByTftp = (log: readonly LogLine[]): readonly (string | undefined)[] =>
  log.filter(({ msg }) => msg === 'tftp.completed').map((line) => line.file);

export const filesByHttp = (log: readonly LogLine[]): readonly (string | undefined)[] =>
  log.filter((line) => line.method === 'GET' && line.status === 200).map((line) => line.path);
