// `npm run bench -- NAME`: runs one benchmark, prints a table, and last one line that a program can read.

import { benchApply } from './apply.ts';
import { benchBmc } from './bmc.ts';
import { benchDecide } from './decide.ts';
import { benchDhcp } from './dhcp.ts';
import { benchHttp } from './http.ts';
import { benchIdle } from './idle.ts';
import { benchOnboarding } from './onboarding.ts';
import { benchRender } from './render.ts';
import { benchStorm } from './storm.ts';
import { benchTftp } from './tftp.ts';

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  apply: benchApply,
  bmc: benchBmc,
  decide: benchDecide,
  dhcp: benchDhcp,
  http: benchHttp,
  idle: benchIdle,
  onboarding: benchOnboarding,
  render: benchRender,
  storm: benchStorm,
  tftp: benchTftp,
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name));
if (names.length === 0 || unknown.length > 0) {
  process.stderr.write(`usage: npm run bench -- NAME…   with NAME one of ${Object.keys(BENCHES).join(', ')}\n`);
  process.exitCode = 2;
} else {
  for (const name of names) await BENCHES[name]?.();
}
