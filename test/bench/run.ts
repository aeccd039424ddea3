// `npm run bench -- NAME`: runs one benchmark, prints a table, and last one line that a program can read.

import { benchApply } from './apply.ts';
import { benchBmc } from './bmc.ts';
import { benchConsoles } from './consoles.ts';
import { benchDecide } from './decide.ts';
import { benchDhcp } from './dhcp.ts';
import { benchFuzz } from './fuzz.ts';
import { benchHttp } from './http.ts';
import { benchIdle } from './idle.ts';
import { benchOnboarding } from './onboarding.ts';
import { benchRender } from './render.ts';
import { benchStorm } from './storm.ts';
import { benchTftp } from './tftp.ts';

const BENCHES: Readonly<Record<string, (count?: number) => Promise<void>>> = {
  apply: benchApply,
  bmc: benchBmc,
  consoles: benchConsoles,
  decide: benchDecide,
  dhcp: benchDhcp,
  fuzz: benchFuzz,
  http: benchHttp,
  idle: benchIdle,
  onboarding: benchOnboarding,
  render: benchRender,
  storm: benchStorm,
  tftp: benchTftp,
};

/** `fuzz=1000000`: with another number of rounds than usual, where the benchmark counts rounds. */
const asked = process.argv.slice(2).map((word) => {
  const [name = '', count] = word.split('=');
  return { name, count: count === undefined ? undefined : Number(count) };
});
const isWrong = ({ name, count = 1 }: (typeof asked)[number]): boolean =>
  !Object.hasOwn(BENCHES, name) || !Number.isSafeInteger(count) || count < 1;
if (asked.length === 0 || asked.some(isWrong)) {
  const names = Object.keys(BENCHES).join(', ');
  process.stderr.write(
    `usage: npm run bench -- NAME…   with NAME one of ${names}; fuzz=COUNT sets the number of inputs\n`,
  );
  process.exitCode = 2;
} else {
  for (const { name, count } of asked) await BENCHES[name]?.(count);
}
