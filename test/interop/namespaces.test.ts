import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sweepLeftovers } from './namespaces.ts';
import { needPackages } from './packages.ts';

/** A test that has a namespace with a program in it. */
const TEST = `
  import { Namespaces } from ${JSON.stringify(join(import.meta.dirname, 'namespaces.ts'))};
  const namespaces = new Namespaces();
  namespaces.add('lab');
  const running = namespaces.start('lab', 'sh', '-c', 'echo $$; exec sleep 1000');
  console.log((await running.says(/\\d+/))[0]);
`;

interface OtherTest {
  readonly kill: () => Promise<void>;
  readonly program: number;
  readonly namespaces: () => string[];
}

async function otherTest(): Promise<OtherTest> {
  const test = spawn(process.execPath, ['--input-type=module', '--eval', TEST], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(test, 'exit');
  const kill = async (): Promise<void> => {
    test.kill('SIGKILL');
    await exited;
  };
  onTestFinished(async () => {
    await kill();
    await sweepLeftovers();
  });
  const [printed] = await once(test.stdout, 'data');
  const namespaces = () => readdirSync('/run/netns').filter((name) => name.startsWith(`coldiron-test-${test.pid}-`));
  return { kill, program: Number(printed), namespaces };
}

const runs = (pid: number): boolean => existsSync(`/proc/${pid}`);

describe('the namespaces of a test', () => {
  it('are removed with their processes after the test was killed, while those of a running test stay', async () => {
    needPackages(['iproute2']);
    const [killed, running] = [await otherTest(), await otherTest()];
    expect([killed.namespaces().length, runs(killed.program)]).toEqual([1, true]);
    await killed.kill();
    await sweepLeftovers();
    expect(killed.namespaces()).toEqual([]);
    await expect.poll(() => runs(killed.program)).toBe(false);
    expect([running.namespaces().length, runs(running.program)]).toEqual([1, true]);
  });
});
