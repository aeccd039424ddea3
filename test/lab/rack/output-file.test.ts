import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { OutputFile } from '../../../appliance/lab/rack/output-file.ts';

it('keeps the order of what is written, and appends to what is there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-output-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'console.log');
  for (const words of [['one ', 'two '], ['three']]) {
    const file = new OutputFile(path);
    for (const word of words) file.write(Buffer.from(word));
    await file.close();
  }
  expect(readFileSync(path, 'utf8')).toBe('one two three');
});

it.each(['/dev/full', '/nowhere/console.log'])('loses what cannot be written, and goes on: %s', async (path) => {
  const file = new OutputFile(path);
  file.write('lost');
  file.write('lost, too');
  await expect(file.close()).resolves.toBeUndefined();
});
