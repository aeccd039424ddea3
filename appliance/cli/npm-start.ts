// `npm start`: serves ./coldiron.yaml when it exists. Otherwise it starts a virtual rack and an appliance, and takes one server
// from powered off to active. It runs until Ctrl-C, then removes everything except boot files.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { ColdironError, ERRORS } from '../domain/errors.ts';
import { DEMO_PROFILE, demoRack } from '../lab/demo/demo-site.ts';
import { openManagementForward } from '../lab/demo/management-forward.ts';
import { clearState, freshState, gatherBootFiles, mustBeRoot, needDemoPackages } from '../lab/demo/prepare.ts';
import { ServedRack } from '../lab/demo/served-rack.ts';
import { secondsInWords, stages } from '../lab/demo/stages.ts';
import { connect } from './connection.ts';
import { operate } from './operate.ts';
import { runCommand } from './run-command.ts';
import { serve } from './serve.ts';
import { runTask } from './task.ts';
import { printableLines } from './terminal.ts';
import { signInLink } from './ui.ts';

const STATE = resolve('state');
const PORT = 8080;
const NODE = 'node01';

const write = (text: string): void => void process.stdout.write(text);

/** Ctrl-C ends it normally. */
class Interrupted extends Error {}

interface Interruption {
  readonly happens: Promise<never>;
  /** Called after a step that must not be interrupted. */
  check(): void;
}

function interruption(): Interruption {
  const { promise, reject } = Promise.withResolvers<never>();
  let happened = false;
  promise.catch(() => undefined);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      happened = true;
      reject(new Interrupted());
    });
  }
  return {
    happens: promise,
    check: () => {
      if (happened) throw new Interrupted();
    },
  };
}

async function demonstrate(): Promise<void> {
  mustBeRoot();
  const stops: (() => Promise<void>)[] = [];
  const interrupted = interruption();
  try {
    await upToActive(stops, interrupted);
    await interrupted.happens;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
  } finally {
    write('\nStopping and removing everything …\n');
    for (let undo = stops.pop(); undo; undo = stops.pop()) await undo();
    write('Removed everything except the boot files in state/assets.\n');
  }
}

/** Runs every stage until the node is active; `stops` collects the functions that undo them, called last first. */
async function upToActive(stops: (() => Promise<void>)[], interrupted: Interruption): Promise<void> {
  const began = performance.now();
  const stage = stages(write, () => performance.now());
  await freshState(STATE);
  stops.push(() => clearState(STATE));
  await stage.run('Debian packages', needDemoPackages);
  const imageSha256 = await stage.run('Boot files, the service OS and an image of Debian', (say) =>
    gatherBootFiles(STATE, say),
  );
  interrupted.check();
  const served = await stage.run('A virtual rack of two servers with BMCs, and an appliance in its network', () =>
    ServedRack.start({ definition: demoRack(['uefi-pxe', 'bios-ipxe-rom']), state: STATE, image: { imageSha256 } }),
  );
  stops.push(() => served.stop());
  const wayOut = await openManagementForward(served.rack.network, PORT);
  stops.push(() => wayOut.close());
  interrupted.check();
  const unlessInterrupted = (doing: Promise<void>): Promise<void> => Promise.race([doing, interrupted.happens]);
  const place = { state: STATE };
  const { url } = await signInLink(await connect(place), wayOut.url);
  write(`\nWatch it in a browser on this machine; the link works once, within 5 minutes:\n\n  ${url}\n\n`);
  await stage.run(`${NODE}, powered off: commission it through its BMC`, () =>
    unlessInterrupted(runCommand('commissionNode', [NODE], { ...place, wait: true })),
  );
  await stage.run(`${NODE}: install ${DEMO_PROFILE}, start it from its disk, enroll it`, () =>
    unlessInterrupted(runCommand('deployNode', [NODE], { ...place, wait: true, yes: true })),
  );
  await stage.run(`${NODE}: a signed task`, () => unlessInterrupted(runTask([NODE, 'ping'], { ...place, wait: true })));
  const { nodes } = await operate(await connect(place), 'listNodes', {});
  write(
    `\n${NODE} is active, ${secondsInWords((performance.now() - began) / 1000)} after npm start.\n\n` +
      stage.done.map(({ name, seconds }) => `  ${secondsInWords(seconds).padStart(9)}  ${name}\n`).join('') +
      `\nThe API: ${wayOut.url}/api/v1/nodes, with the token in state/admin-token, for a day; ${nodes.length} nodes.\n` +
      `  curl -s -H "Authorization: Bearer $(cat state/admin-token)" ${wayOut.url}/api/v1/nodes\n` +
      'In another terminal:\n' +
      `  ./coldiron ui --url ${wayOut.url}     a new link that opens the web page\n` +
      `  ./coldiron trail ${NODE}          its events, boot by boot\n` +
      `  ./coldiron console ${NODE}        its serial console, over IPMI\n` +
      '  ./coldiron commission node02 --wait && ./coldiron deploy node02 --wait    the second server, with BIOS\n' +
      'Ctrl-C stops and removes everything.\n',
  );
}

try {
  if (existsSync('coldiron.yaml')) await serve({ config: 'coldiron.yaml' });
  else await demonstrate();
} catch (error) {
  if (!(error instanceof ColdironError)) throw error;
  const lines = [error.message, ...error.details, `→ ${error.hint}`].map(printableLines);
  process.stderr.write(`coldiron: ${lines.join('\n  ')}\n`);
  process.exitCode = ERRORS[error.code].exit;
}
