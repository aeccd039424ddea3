import { open } from 'node:fs/promises';
import type { CpuArchitecture } from '../domain/architecture.ts';
import type { FileDamage } from './file-damage.ts';
import { detectFileType, type FileType, fileTypeInWords, TYPE_HEAD_BYTES } from './file-type.ts';
import type { ManifestEntry } from './manifest.ts';

/** A file that may be served. */
export interface Asset {
  readonly name: string;
  readonly file: string;
  readonly size: number;
  /** Hexadecimal, as of the last time the file was hashed. */
  readonly sha256: string;
  readonly kind: FileType['kind'];
  /** null: not specific to one architecture, or unknown. */
  readonly architecture: CpuArchitecture | null;
  readonly contentType: string;
  /** A compressed disk image: what it unpacks to, at least. Left out: unknown, or not compressed. */
  readonly unpackedBytes?: number;
  /** Why it is not the file that was placed; left out: it is, or nothing is known about it. */
  readonly damage?: FileDamage;
}

/** The first bytes of the file: enough to detect its type. */
export async function headOf(file: string): Promise<Uint8Array> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(new Uint8Array(TYPE_HEAD_BYTES), 0, TYPE_HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

export const fileTypeOf = async (file: string): Promise<FileType> => detectFileType(await headOf(file));

export const assetInWords = ({ kind, architecture }: Pick<Asset, 'kind' | 'architecture'>): string =>
  fileTypeInWords(kind === 'efi' || kind === 'kernel' ? { kind, cpu: architecture } : { kind });

/** Describes the mismatch between a file's type and its manifest entry; null when they match. */
export function typeProblem(entry: ManifestEntry, type: FileType): string | null {
  const { firmware, architecture } = entry;
  if (firmware === null) return null;
  const isRight = firmware === 'bios' ? type.kind === 'bios' : type.kind === 'efi' && type.cpu === architecture;
  if (isRight) return null;
  const expected = fileTypeInWords(firmware === 'bios' ? { kind: 'bios' } : { kind: 'efi', cpu: architecture });
  return `must be ${expected}, is ${fileTypeInWords(type)}`;
}

/** A damaged file is served to those who ask for it, and nobody is sent to it. */
export const isUsable = (asset: Asset | null): asset is Asset => asset !== null && asset.damage === undefined;
