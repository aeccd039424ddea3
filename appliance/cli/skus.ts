// The verb that lists the SKU catalogue.

import type { Answer } from '../contract/wire.ts';
import { bytesInWords } from '../domain/byte-size.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, table } from './terminal.ts';

type Sku = Answer<'listSkus'>['skus'][number];

export async function listSkus(options: ConnectionOptions): Promise<void> {
  const { skus } = await operate(await connect(options), 'listSkus', {});
  const output = standardOutput();
  if (options.json) return printJson(output, skus);
  const rows = skus.map((sku) => [
    sku.name,
    sku.active ? 'active' : 'inactive',
    sku.architecture,
    String(sku.gpus),
    sku.regions.join(', ') || 'all',
    sku.owner ?? '',
    sku.hardware,
    minimumText(sku.minimum),
  ]);
  output.write(table(output, ['NAME', 'STATE', 'CPU', 'GPUS', 'REGIONS', 'OWNER', 'HARDWARE', 'AT LEAST'], rows));
}

function minimumText(minimum: Sku['minimum']): string {
  if (minimum === null) return '';
  const { cores, threads, memory_bytes: memory, disks, disk_bytes: diskBytes, nics, nic_mbps: speed } = minimum;
  const parts = [
    cores === null ? null : `${cores} cores`,
    threads === null ? null : `${threads} threads`,
    memory === null ? null : `${bytesInWords(memory)} memory`,
    disks === null && diskBytes === null
      ? null
      : `${disks ?? 1} disks${diskBytes === null ? '' : ` of ${bytesInWords(diskBytes)}`}`,
    nics === null && speed === null ? null : `${nics ?? 1} NICs${speed === null ? '' : ` of ${speed} Mbit/s`}`,
  ];
  return parts.filter((part) => part !== null).join(', ');
}
