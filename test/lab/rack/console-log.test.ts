import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConsoleLog } from '../../../appliance/lab/rack/console-log.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('ConsoleLog', () => {
  it('drops terminal controls, however the bytes are split', () => {
    const printed = '\x1b[2J\x1b[01;01HBoot\x1b[0m\x1b[37m\x1b[40m from\x1b(B disk\r\nnext';
    fc.assert(
      fc.property(fc.array(fc.nat(printed.length), { maxLength: 8 }), (cuts) => {
        const log = new ConsoleLog();
        let from = 0;
        for (const to of [...cuts, printed.length].sort((a, b) => a - b)) {
          log.append(bytes(printed.slice(from, to)));
          from = to;
        }
        expect(log.lastLines(5)).toEqual(['Boot from disk', 'next']);
      }),
    );
  });

  it('finds a marker that was printed before the wait', async () => {
    const log = new ConsoleLog();
    log.append(bytes('ready 42\n'));
    expect((await log.waitFor(/ready (\d+)/, 1000))[1]).toBe('42');
  });

  it('finds a marker that arrives in pieces during the wait', async () => {
    const log = new ConsoleLog();
    const found = log.waitFor(/ready/, 60_000);
    log.append(bytes('re'));
    log.append(bytes('ady'));
    expect((await found)[0]).toBe('ready');
  });

  it('rejects when the machine goes off before the marker', async () => {
    const log = new ConsoleLog();
    const found = log.waitFor(/ready/, 60_000);
    log.end(new Error('the machine went off'));
    await expect(found).rejects.toThrow('/ready/ was not printed: the machine went off');
  });

  it('rejects on timeout', async () => {
    await expect(new ConsoleLog().waitFor(/ready/, 1)).rejects.toThrow('/ready/ was not printed within 1 ms');
  });

  it('keeps only the end of endless output', () => {
    const log = new ConsoleLog();
    for (let count = 0; count < 40; count += 1) log.append(bytes(`${'x'.repeat(65_536)}\n`));
    log.append(bytes('the last line\n'));
    expect(log.text.length).toBe(512 * 1024);
    expect(log.lastLines(1)).toEqual(['the last line']);
  });
});
