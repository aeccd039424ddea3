// A boot server for one machine at a time: dnsmasq, and a small system that prints what the machine's TPM says and who the
// machine says it is. It needs no TPM software: the kernel shows PCRs as files, and a command is a few bytes.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpioArchive } from '../../../appliance/assets/cpio.ts';
import { ekFingerprint } from '../../../appliance/codecs/tpm/tpm-keys.ts';
import { parseTpmPublic } from '../../../appliance/codecs/tpm/tpm-public.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { RackNetwork } from '../../../appliance/lab/rack/network.ts';
import type { RackSlot } from '../../../appliance/lab/rack/rack-slot.ts';
import { buildReporters } from '../../../appliance/lab/rack/reporter.ts';
import { EMULATED } from './emulated.ts';
import { fairClock } from './fair-clock.ts';
import { RackProcess } from './rack-process.ts';

const BOOT_WITHIN_MS = 300_000;
const READY_WITHIN_MS = 60_000;
const IPV6_PREFIX = 'fd77::';

/** TPM2_ReadPublic of the RSA endorsement key that swtpm_setup made persistent. */
const READ_EK = '\\200\\001\\0\\0\\0\\016\\0\\0\\001\\163\\201\\001\\0\\001';

const INIT = `#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
export PATH=/bin
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
trap 'echo "tpm-reader: ends"; poweroff -f' EXIT
echo "tpm-reader: uuid $(cat /sys/class/dmi/id/product_uuid)"
echo "tpm-reader: serial $(cat /sys/class/dmi/id/product_serial)"
if [ ! -c /dev/tpm0 ]; then
  echo "tpm-reader: device none"
  exit
fi
echo "tpm-reader: device /dev/tpm0"
for pcr in 0 1 2 3 4 5 6 7; do
  echo "tpm-reader: pcr$pcr $(cat /sys/class/tpm/tpm0/pcr-sha256/$pcr)"
done
exec 3<> /dev/tpm0
printf '${READ_EK}' >&3
echo "tpm-reader: ek $(dd bs=4096 count=1 2> /dev/null <&3 | od -An -v -tx1 | tr -d ' \\n')"
`;

export interface TpmReading {
  readonly uuid: string;
  readonly serial: string;
  /** Null: the operating system found no TPM. */
  readonly tpm: { readonly pcrs: readonly string[]; readonly answer: Buffer } | null;
}

export class TpmReader {
  readonly #folder: string;
  readonly #server: RackProcess;

  private constructor(folder: string, server: RackProcess) {
    this.#folder = folder;
    this.#server = server;
  }

  static async serve(network: RackNetwork): Promise<TpmReader> {
    const reporter = (await buildReporters(['amd64'])).get('amd64');
    if (!reporter) throw new Error('no reporter');
    const folder = mkdtempSync(join(tmpdir(), 'coldiron-tpm-reader-'));
    await copyFile(reporter.kernel, join(folder, 'kernel'));
    // The kernel unpacks archives one after the other, each at a multiple of four bytes: our init replaces the reporter's.
    const init = { path: 'init', kind: 'file', bytes: Buffer.from(INIT), executable: true } as const;
    const initrd = await readFile(reporter.initrd);
    const segments = [initrd, Buffer.alloc(-initrd.length & 3), cpioArchive([init])];
    writeFileSync(join(folder, 'initrd'), Buffer.concat(segments));
    const script = `#!ipxe\nkernel kernel console=ttyS0 quiet ${EMULATED}\ninitrd initrd\nboot\n`;
    writeFileSync(join(folder, 'script'), script);
    await network.run('ip', 'address', 'add', `${IPV6_PREFIX}1/64`, 'dev', network.bridge, 'nodad');
    const server = new RackProcess(network, [
      ...(['dnsmasq', '--keep-in-foreground', '--conf-file=/dev/null', '--user=root', '--log-facility=-'] as const),
      ...['--port=0', `--interface=${network.bridge}`, '--leasefile-ro', '--no-ping'],
      ...['--dhcp-range=10.77.1.1,10.77.1.250,255.255.0.0,2m', '--dhcp-boot=script'],
      // iPXE waits for an IPv6 router before it boots.
      ...['--enable-ra', `--dhcp-range=${IPV6_PREFIX},ra-only,64`],
      ...['--enable-tftp', `--tftp-root=${folder}`],
    ]);
    await server.line((line) => line.includes('TFTP root'), READY_WITHIN_MS);
    return new TpmReader(folder, server);
  }

  /** Switches the machine on, and returns when it has switched itself off. */
  async boot(slot: RackSlot): Promise<TpmReading> {
    await slot.server.powerOn();
    const { console } = slot.serial;
    await console
      .waitFor(
        /tpm-reader: ends/,
        BOOT_WITHIN_MS,
        fairClock(() => slot.server.pid),
      )
      .catch((error: Error) => {
        throw new Error([error.message, ...console.lastLines(40)].join('\n'));
      });
    await slot.server.powerOff();
    return readingOf(console.text);
  }

  async stop(): Promise<void> {
    await this.#server.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function readingOf(text: string): TpmReading {
  const said = new Map([...text.matchAll(/tpm-reader: (\w+) (\S+)/g)].map(([, key = '', value = '']) => [key, value]));
  const value = (key: string): string => said.get(key) ?? '';
  const pcrs = Array.from({ length: 8 }, (_, number) => value(`pcr${number}`));
  const tpm = value('device') === '/dev/tpm0' ? { pcrs, answer: Buffer.from(value('ek'), 'hex') } : null;
  return { uuid: value('uuid'), serial: value('serial'), tpm };
}

/** From the answer to TPM2_ReadPublic: a header of ten bytes, then the TPM2B_PUBLIC, the name and the qualified name. */
export function fingerprintIn(answer: Buffer): string {
  const area = answer.subarray(12, 12 + answer.readUInt16BE(10));
  return ekFingerprint(mustParse(parseTpmPublic(area)));
}
