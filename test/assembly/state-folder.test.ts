import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { secureStateFolder } from '../../appliance/assembly/state-folder.ts';
import { useScratchFolder } from '../store/scratch-folder.ts';

describe('the state folder', () => {
  const scratch = useScratchFolder();
  const closed = async (mode: number): Promise<{ mode: number; warnings: object[] }> => {
    const folder = scratch('state');
    mkdirSync(folder);
    chmodSync(folder, mode);
    const warnings: object[] = [];
    await secureStateFolder(folder, { warn: (fields) => warnings.push(fields) });
    return { mode: statSync(folder).mode & 0o777, warnings };
  };

  it.each([0o755, 0o750, 0o701])('gets mode 0700, with a warning, when it has mode %o', async (mode) => {
    const was = `0${mode.toString(8)}`;
    expect(await closed(mode)).toEqual({ mode: 0o700, warnings: [{ folder: scratch('state'), mode: was }] });
  });

  it('is unchanged when no other user can read it', async () => {
    expect(await closed(0o700)).toEqual({ mode: 0o700, warnings: [] });
  });

  it('is left to the store when it is missing', async () => {
    await secureStateFolder(scratch('none'), { warn: () => expect.unreachable() });
    expect(existsSync(scratch('none'))).toBe(false);
  });
});
