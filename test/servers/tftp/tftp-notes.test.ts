import { describe, expect, it } from 'vitest';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { factsFromTftp } from '../../../appliance/policy/client-facts.ts';
import { BootDesk } from '../../../appliance/servers/boot-desk.ts';
import type { TftpContent, TftpDesk } from '../../../appliance/servers/tftp/tftp-desk.ts';
import { MAC, machineIn, NODE_ID, NOW, UUID } from '../../policy/boot-fixtures.ts';
import { load, sloppyClient } from './sloppy-client.ts';
import { fleetOf, LOOPBACK, startServer } from './tftp-rig.ts';

const OWN = `grub/machine/${MAC}_${UUID}.cfg`;

/** Sends the same to everybody, as decided for this machine. */
function deskThatSends(content: TftpContent, machine: Machine): Pick<TftpDesk, 'answer'> {
  const desk = new BootDesk(fleetOf(machine), () => NOW);
  return {
    answer: async (name) => {
      const judged = desk.judge(factsFromTftp({ address: LOOPBACK, file: name, mac: MAC }));
      return { name, mac: MAC, judged, reply: { do: 'send', content } };
    },
  };
}
const text = { text: new TextEncoder().encode('exit\n') };

describe('what is told of a read request', () => {
  it('is, for the configuration of a machine, what was decided and because of what', async () => {
    const rig = await startServer({}, deskThatSends(text, machineIn('commissioning')));
    await load(await sloppyClient(), rig.port, OWN);
    expect(await rig.noted('boot.decided')).toEqual([
      {
        kind: 'boot.decided',
        mac: MAC,
        machine: NODE_ID,
        data: {
          file: OWN,
          outcome: 'service-os',
          because: 'commissioning',
          words: expect.stringContaining('node01'),
        },
      },
    ]);
    expect(rig.notes.map(({ kind }) => kind)).toEqual(['tftp.completed', 'boot.decided']);
  });

  it('is no decision for what every machine gets', async () => {
    const rig = await startServer({}, deskThatSends(text, machineIn('commissioning')));
    for (const name of ['grub/grub.cfg', 'autoexec.ipxe', 'snponly.efi']) {
      await load(await sloppyClient(), rig.port, name);
    }
    await rig.noted('tftp.completed', 3);
    expect(rig.notes.map(({ kind }) => kind)).not.toContain('boot.decided');
  });
});
