// `npm run bench -- NAME`: runs benchmarks, each with a table and last one line that a program can read. With `--against REV` it
// compares this tree with another commit.

import { printComparison } from './against/compare.ts';
import { readOptions, USAGE } from './against/read-options.ts';
import { benchApply } from './apply.ts';
import { benchBmc } from './bmc.ts';
import { benchConsoles } from './consoles.ts';
import { benchDecide } from './decide.ts';
import { benchDhcp } from './dhcp.ts';
import { benchFaults } from './faults.ts';
import { benchFuzz } from './fuzz.ts';
import { benchHttp } from './http.ts';
import { benchIdle } from './idle.ts';
import { benchOnboarding } from './onboarding.ts';
import { benchOnboardings } from './onboardings.ts';
import { benchRender } from './render.ts';
import { benchStorm } from './storm.ts';
import { benchStream } from './stream.ts';
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
  onboardings: benchOnboardings,
  render: benchRender,
  storm: benchStorm,
  stream: benchStream,
  tftp: benchTftp,
};

const [first, ...rest] = process.argv.slice(2);
// Takes ids of faults, and is never compared.
const options = first === 'faults' ? null : readOptions(process.argv.slice(2));
if (options === null) {
  await benchFaults(rest);
} else if (options.kind === 'wrong') {
  process.stderr.write(`${options.reason}\n${USAGE}`);
  process.exitCode = 2;
} else if (options.kind === 'table') {
  process.exitCode = await printComparison(options);
} else {
  for (const { name, count } of options.benches) await BENCHES[name]?.(count ?? undefined);
}
