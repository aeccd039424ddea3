import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AssetLibrary } from '../../appliance/assets/library.ts';
import { isOfInterest, LibraryWatch } from '../../appliance/assets/library-watch.ts';
import { bzImage, put, temporaryFolder } from './tiny-files.ts';

/** A library that is rescanned only when its watcher reports a change, without polling. */
async function watched(folder: string) {
  const library = await AssetLibrary.open(folder);
  const waiting = new Set<() => void>();
  const watch = await LibraryWatch.start({
    folder,
    settleMs: 20,
    onChange: async () => {
      await library.reload();
      for (const wake of [...waiting]) wake();
    },
    log: {
      warn: (_fields, message) => expect.unreachable(message),
      error: (_fields, message) => expect.unreachable(message),
    },
  });
  onTestFinished(() => watch.stop());
  /** Ends with the timeout of the test at the latest. */
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
      });
      waiting.clear();
    }
  };
  return { library, until };
}

describe('a library whose folder is watched', () => {
  it('finds a file of a new image at once, also in a new folder', async () => {
    const folder = join(temporaryFolder(), 'assets');
    const { library, until } = await watched(folder);
    expect(library.list()).toEqual([]);
    put(folder, 'nixos/worker/bzImage', bzImage(1));
    await until(() => library.find('nixos/worker/bzImage') !== null);
    put(folder, 'nixos/worker/initrd', Buffer.from('070701'));
    await until(() => library.find('nixos/worker/initrd') !== null);
  });

  it('adds a folder that is moved into it, and drops one that is removed', async () => {
    const folder = temporaryFolder();
    const made = temporaryFolder();
    put(made, 'worker/bzImage', bzImage(1));
    mkdirSync(join(folder, 'nixos'));
    const { library, until } = await watched(folder);
    renameSync(join(made, 'worker'), join(folder, 'nixos/worker'));
    await until(() => library.find('nixos/worker/bzImage') !== null);
    rmSync(join(folder, 'nixos/worker'), { recursive: true });
    await until(() => library.find('nixos/worker/bzImage') === null);
  });

  it('follows a replaced link, as for a new build in the Nix store', async () => {
    const folder = temporaryFolder();
    const store = temporaryFolder();
    put(store, 'one/bzImage', bzImage(1));
    put(store, 'two/bzImage', Buffer.concat([bzImage(1), Buffer.from('two')]));
    mkdirSync(join(folder, 'nixos'));
    symlinkSync(join(store, 'one'), join(folder, 'nixos/worker'));
    const { library, until } = await watched(folder);
    const first = library.find('nixos/worker/bzImage')?.sha256;
    expect(first).toBeDefined();
    symlinkSync(join(store, 'two'), join(folder, 'nixos/.worker.new'));
    renameSync(join(folder, 'nixos/.worker.new'), join(folder, 'nixos/worker'));
    await until(() => library.find('nixos/worker/bzImage')?.sha256 !== first);
    expect(library.find('nixos/worker/bzImage')?.size).toBe(bzImage(1).length + 3);
  });

  it('notices a change of its manifest', async () => {
    const folder = temporaryFolder();
    const { library, until } = await watched(folder);
    let looks = 0;
    writeFileSync(join(folder, 'extra.yaml'), 'files: []\n');
    await until(() => looks++ > 0);
    expect(library.list()).toEqual([]);
  });

  it('is not rescanned for its own checksum index or for unfinished files', () => {
    expect(['index.json', 'index.json.new', '.bzImage.part'].map(isOfInterest)).toEqual([false, false, false]);
    expect(['bzImage', 'extra.yaml', null].map(isOfInterest)).toEqual([true, true, true]);
  });
});
