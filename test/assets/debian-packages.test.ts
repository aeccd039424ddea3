import { afterEach, describe, expect, it, vi } from 'vitest';
import { installedPackage, runTool, ToolError } from '../../appliance/assets/debian-packages.ts';
import { temporaryFolder } from './tiny-files.ts';

afterEach(() => vi.unstubAllEnvs());

describe('a program of Debian', () => {
  it('that fails reports its exit code and its error output', async () => {
    const failure = await runTool('sh', ['-c', 'echo W: old >&2; echo E: no disk >&2; exit 100']).catch(
      (error) => error,
    );
    expect(failure).toBeInstanceOf(ToolError);
    expect(failure).toMatchObject({ code: 'service_unavailable', exitCode: 100, errorOutput: 'W: old\nE: no disk\n' });
    expect(failure.message).toMatch(/: E: no disk$/);
  });

  it('that fails without error output is reported with its command', async () => {
    await expect(runTool('sh', ['-c', 'exit 3'])).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining('Command failed'),
    });
  });

  it('that is missing is an error, not a missing package', async () => {
    vi.stubEnv('PATH', temporaryFolder());
    await expect(installedPackage({ package: 'ipxe', architecture: null })).rejects.toMatchObject({
      exitCode: null,
      message: expect.stringContaining('dpkg-query is not installed'),
    });
  });
});
