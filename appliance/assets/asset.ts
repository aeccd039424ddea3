import { open } from 'node:fs/promises';
import type { CpuArchitecture } from '../domain/architecture.ts';
import { detectFileType, type FileType, fileTypeInWords, HEAD_BYTES } from './file-type.ts';
import type { ManifestEntry } from './manifest.ts';

/** A file that may be served. */
export interface Asset {
  readonly name: string;
  readonly file: string;
  readonly size: number;
  /** Hexadecimal: of the bytes as they were when they were last counted. */
  readonly sha256: string;
  readonly kind: FileType['kind'];
  /** null: not bound to one, or not known. */
  readonly architecture: CpuArchitecture | null;
  readonly contentType: string;
}

/** Its first bytes, enough to tell its type. */
export async function headOf(file: string): Promise<Uint8Array> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(new Uint8Array(HEAD_BYTES), 0, HEAD_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

export const fileTypeOf = async (file: string): Promise<FileType> => detectFileType(await headOf(file));

export const assetInWords = ({ kind, architecture }: Pick<Asset, 'kind' | 'architecture'>): string =>
  fileTypeInWords(kind === 'efi' || kind === 'kernel' ? { kind, cpu: architecture } : { kind });

/** What is wrong with a file of this type under this entry; null when it is what the entry promises. */
export function typeProblem(entry: ManifestEntry, type: FileType): string | null {
  const { firmware, architecture } = entry;
  if (firmware === null) return null;
  const isRight = firmware === 'bios' ? type.kind === 'bios' : type.kind === 'efi' && type.cpu === architecture;
  if (isRight) return null;
  const wanted = fileTypeInWords(firmware === 'bios' ? { kind: 'bios' } : { kind: 'efi', cpu: architecture });
  return `must be ${wanted}, is ${fileTypeInWords(type)}`;
}
