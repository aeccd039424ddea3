// Declares the boot files and their sources: the built-in manifest, and the one that a site adds.

import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { readDocument } from '../documents/document.ts';
import { type Report, structureReader, type ValidPart } from '../documents/structure.ts';
import { CPU_ARCHITECTURES, type CpuArchitecture } from '../domain/architecture.ts';
import { ColdironError } from '../domain/errors.ts';
import { isLoaderName, parseAssetName } from './asset-name.ts';

export type AssetSource =
  | {
      readonly kind: 'debian';
      readonly package: string;
      /** Debian's name (amd64, arm64); null: the package is the same for all architectures. */
      readonly architecture: string | null;
      readonly path: string;
      /** sha256 of the file by package version. For a version that is not listed, apt's verification of the package counts. */
      readonly sums?: ReadonlyMap<string, string>;
    }
  | { readonly kind: 'url'; readonly url: string; readonly sha256: string };

/** What the file must be; `architecture` is null where a site does not declare it. */
export interface ManifestEntry {
  readonly name: string;
  readonly firmware: 'bios' | 'efi' | null;
  readonly architecture: CpuArchitecture | null;
  readonly licence: string | null;
  readonly source: AssetSource;
}

const closed = { additionalProperties: false } as const;
const sha256 = () => Type.String({ pattern: '^[0-9a-f]{64}$', description: '64 hexadecimal digits in lower case' });
const url = () => Type.String({ pattern: '^https?://[^\\s]+$', description: 'an http or https URL' });

const Source = Type.Object(
  {
    debian: Type.Optional(Type.String({ pattern: '^[a-z0-9][a-z0-9+.-]+$', description: 'the name of a package' })),
    package_architecture: Type.Optional(Type.Enum(['amd64', 'arm64', 'armhf', 'i386', 'riscv64', 'loong64'])),
    path: Type.Optional(Type.String({ pattern: '^/[^\\s]+$', description: 'an absolute path in the package' })),
    url: Type.Optional(url()),
    sha256: Type.Optional(sha256()),
  },
  closed,
);

const ManifestDocument = Type.Object(
  {
    loaders: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String(),
            architecture: Type.Enum([...CPU_ARCHITECTURES]),
            firmware: Type.Enum(['bios', 'efi']),
            licence: Type.Optional(Type.String()),
            source: Source,
            /** For a file out of a Debian package: by package version. */
            sha256: Type.Optional(Type.Record(Type.String({ pattern: '^[0-9A-Za-z.+:~-]+$' }), sha256())),
          },
          closed,
        ),
      ),
    ),
    /** Kernels, initrds and images to fetch. */
    files: Type.Optional(
      Type.Array(
        Type.Object(
          { name: Type.String(), licence: Type.Optional(Type.String()), url: url(), sha256: sha256() },
          closed,
        ),
      ),
    ),
  },
  closed,
);

type Document = ValidPart<Static<typeof ManifestDocument>>;
const readStructure = structureReader(ManifestDocument);

const OWN_MANIFEST = join(import.meta.dirname, '../../boot-assets/manifest.yaml');

/** The built-in manifest, with entries replaced by those of the same name in the site's. `invalid_config` lists every problem. */
export async function readManifests(extraFile: string | null): Promise<readonly ManifestEntry[]> {
  const entries = new Map<string, ManifestEntry>();
  for (const file of [OWN_MANIFEST, ...(extraFile === null ? [] : [extraFile])]) {
    for (const entry of await readManifest(file)) entries.set(entry.name, entry);
  }
  return [...entries.values()];
}

async function readManifest(file: string): Promise<readonly ManifestEntry[]> {
  const read = await readDocument(file);
  if (!read.ok) throw new ColdironError('invalid_config', 'the manifest of boot files cannot be read', [read.problem]);
  const problems: string[] = [];
  const report: Report = (at, message) => void problems.push(`${file}: ${at}: ${message}`);
  const document: Document = readStructure(read.value, report) ?? {};
  const entries = [...loaderEntries(document, report), ...fileEntries(document, report)];
  const duplicates = entries.filter((entry, at) => entries.findIndex(({ name }) => name === entry.name) !== at);
  for (const { name } of duplicates) report(name, 'is declared twice');
  if (problems.length > 0)
    throw new ColdironError('invalid_config', 'the manifest of boot files has problems', problems);
  return entries;
}

function loaderEntries({ loaders = [] }: Document, report: Report): ManifestEntry[] {
  return loaders.flatMap((loader, at) => {
    const { name, architecture, firmware, licence = null } = loader ?? {};
    const declared = loader?.source && readSource(loader.source, `loaders[${at}].source`, report);
    const source = declared && withSums(declared, loader?.sha256, `loaders[${at}].sha256`, report);
    if (name === undefined || !isNameOf('loader', name, `loaders[${at}].name`, report)) return [];
    return architecture && firmware && source ? [{ name, architecture, firmware, licence, source }] : [];
  });
}

function fileEntries({ files = [] }: Document, report: Report): ManifestEntry[] {
  return files.flatMap((declared, at) => {
    const { name, url, sha256, licence = null } = declared ?? {};
    if (name === undefined || !isNameOf('file', name, `files[${at}].name`, report) || !url || !sha256) return [];
    return [{ name, architecture: null, firmware: null, licence, source: { kind: 'url', url, sha256 } as const }];
  });
}

function withSums(
  source: AssetSource,
  declared: Readonly<Record<string, string | undefined>> | undefined,
  at: string,
  report: Report,
): AssetSource {
  if (declared === undefined) return source;
  if (source.kind === 'url') {
    report(at, 'a file with a URL has its sha256 in source');
    return source;
  }
  const sums = Object.entries(declared).flatMap(([version, sum]) =>
    sum === undefined ? [] : [[version, sum] as const],
  );
  return { ...source, sums: new Map(sums) };
}

function isNameOf(kind: 'loader' | 'file', name: string, at: string, report: Report): boolean {
  const read = parseAssetName(name);
  if (!read.ok) report(at, read.reason);
  else if (kind === 'loader' && !isLoaderName(name))
    report(at, `the name of a loader must not start with nixos/ or images/: ${name}`);
  else if (kind === 'file' && isLoaderName(name))
    report(at, `the name of a file must start with nixos/ or images/: ${name}`);
  else return true;
  return false;
}

function readSource(source: ValidPart<Static<typeof Source>>, at: string, report: Report): AssetSource | null {
  const { debian, path, url, sha256 } = source;
  if (debian !== undefined && path !== undefined && url === undefined && sha256 === undefined) {
    return { kind: 'debian', package: debian, architecture: source.package_architecture ?? null, path };
  }
  if (url !== undefined && sha256 !== undefined && debian === undefined && path === undefined) {
    return { kind: 'url', url, sha256 };
  }
  report(at, 'must be either debian and path, or url and sha256');
  return null;
}
