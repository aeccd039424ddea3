// Archives that the kernel unpacks as its first file system: cpio in the "newc" format, see the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst.

export type ArchiveEntry =
  | { readonly path: string; readonly kind: 'folder' }
  | { readonly path: string; readonly kind: 'link'; readonly to: string }
  | { readonly path: string; readonly kind: 'file'; readonly bytes: Uint8Array; readonly executable: boolean };

const FOLDER_MODE = 0o040755;
const LINK_MODE = 0o120777;
const FILE_MODE = 0o100644;
const PROGRAM_MODE = 0o100755;
/** The magic number and thirteen fields of eight digits. */
const HEADER_BYTES = 110;
const TYPE_MASK = 0o170000;
const END_OF_ARCHIVE = 'TRAILER!!!';

/** A folder must precede its contents: the kernel does not create parent folders. */
export function cpioArchive(entries: readonly ArchiveEntry[]): Buffer {
  const members = entries.map((entry, at) => {
    if (entry.kind === 'folder') return member(at + 1, entry.path, FOLDER_MODE, Buffer.alloc(0));
    if (entry.kind === 'link') return member(at + 1, entry.path, LINK_MODE, Buffer.from(entry.to, 'utf8'));
    return member(at + 1, entry.path, entry.executable ? PROGRAM_MODE : FILE_MODE, entry.bytes);
  });
  return Buffer.concat([...members, member(0, END_OF_ARCHIVE, 0, Buffer.alloc(0))]);
}

function member(inode: number, path: string, mode: number, bytes: Uint8Array): Buffer {
  const name = Buffer.from(`${path}\0`, 'utf8');
  // c_ino, c_mode, c_uid, c_gid, c_nlink, c_mtime, c_filesize, c_maj, c_min, c_rmaj, c_rmin, c_namesize, c_chksum
  const fields = [inode, mode, 0, 0, 1, 0, bytes.length, 0, 0, 0, 0, name.length, 0];
  const header = `070701${fields.map((value) => value.toString(16).padStart(8, '0').toUpperCase()).join('')}`;
  return Buffer.concat([padded(Buffer.concat([Buffer.from(header, 'latin1'), name])), padded(bytes)]);
}

/** The header with the name, and the data, are each padded to a multiple of four. */
function padded(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}

/** The paths of the regular files in an archive, in order. */
export function archivedFiles(archive: Uint8Array): string[] {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const field = (at: number, index: number): number =>
    Number.parseInt(bytes.toString('latin1', at + 6 + index * 8, at + 14 + index * 8), 16);
  const paths: string[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const [mode, size, nameBytes] = [field(at, 1), field(at, 6), field(at, 11)];
    const path = bytes.toString('utf8', at + HEADER_BYTES, at + HEADER_BYTES + nameBytes - 1);
    if (path === END_OF_ARCHIVE) break;
    if ((mode & TYPE_MASK) === (FILE_MODE & TYPE_MASK)) paths.push(path);
    at += rounded(HEADER_BYTES + nameBytes) + rounded(size);
  }
  return paths;
}

const rounded = (bytes: number): number => Math.ceil(bytes / 4) * 4;
