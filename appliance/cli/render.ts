// `coldiron render`: what a node or a whole site is given, as a folder, on the screen, or against what was given last.

import type { RenderedNode, RenderedSite } from '../api/schemas/rendering.ts';
import type { FolderRecord } from '../deliveries/folder-record.ts';
import { writeFolder } from '../deliveries/write-folder.ts';
import { ColdironError } from '../domain/errors.ts';
import { folderLinks } from '../render/node-folder.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import type { FileChange } from '../render/rendering-diff.ts';
import { chosenSite } from './chosen-site.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { renderedNode, renderedSite } from './render-offline.ts';
import { printChangedFiles } from './rendering-changes.ts';
import { type Output, printable, printJson, standardOutput, styled } from './terminal.ts';

export interface RenderOptions extends ConnectionOptions {
  readonly inventory?: string[];
  readonly templates?: string;
  readonly site?: boolean;
  readonly at?: string;
  readonly diff?: boolean;
  readonly force?: boolean;
  /** False with --no-secrets. */
  readonly secrets?: boolean;
}

export async function render(first: string, second: string | undefined, options: RenderOptions): Promise<void> {
  if (options.site) {
    if (second !== undefined || options.diff) throw usage('render --site takes a folder and nothing else');
    return renderSiteInto(first, options);
  }
  if (options.at !== undefined) throw usage('--at chooses the site for --site');
  if (options.diff) {
    if (second !== undefined) throw usage('render --diff shows differences and writes no folder');
    return showDifference(first, options);
  }
  if (second === undefined) return showNode(first, options);
  return renderNodeInto(first, second, options);
}

const usage = (message: string): ColdironError => new ColdironError('usage', message);

async function renderNodeInto(reference: string, folder: string, options: RenderOptions): Promise<void> {
  const rendering = await nodeRendering(reference, options);
  const files = filesOf(rendering.files);
  const record = await writeFolder({
    folder,
    of: `node ${rendering.node}`,
    inventoryRevision: rendering.inventory_revision,
    files: [files],
    links: folderLinks(files),
    force: options.force === true,
  });
  const output = standardOutput();
  if (options.json) printJson(output, { folder, ...record, missing: rendering.missing });
  else printWritten(output, folder, record, rendering.missing);
}

async function renderSiteInto(folder: string, options: RenderOptions): Promise<void> {
  const { site, inventory_revision: inventoryRevision, files, left_out: leftOut } = await siteRendering(options);
  const record = await writeFolder({
    folder,
    of: `site ${site}`,
    inventoryRevision,
    files: [filesOf(files)],
    force: options.force === true,
  });
  const output = standardOutput();
  if (options.json) printJson(output, { folder, ...record, left_out: leftOut });
  else {
    const missing = leftOut.map(({ node, reasons }) => `${node}: ${reasons.join('; ')}`);
    printWritten(output, folder, record, [
      'keys: they are made for one node at a time, with coldiron render NODE DIR',
      ...missing,
    ]);
  }
}

/** Without a folder nothing is made for anybody: no secrets. */
async function showNode(reference: string, options: RenderOptions): Promise<void> {
  const rendering = await nodeRendering(reference, { ...options, secrets: false });
  const output = standardOutput();
  if (options.json) return printJson(output, rendering);
  for (const { path, mode, text } of rendering.files) {
    output.write(`${styled(output, 'bold', `==> ${printable(path)} (${mode}) <==`)}\n`);
    output.write(text === null ? '(secret)\n' : lines(text).map(printable).join('\n'));
    output.write('\n');
  }
  printMissing(output, rendering.missing);
}

const lines = (text: string): string[] => text.replace(/\n$/, '').concat('\n').split('\n');

interface Difference {
  readonly node: string;
  readonly inventory_revision: number;
  readonly since: { readonly at: string; readonly by: string; readonly inventory_revision: number } | null;
  readonly files: readonly FileChange[];
}

async function showDifference(reference: string, options: RenderOptions): Promise<void> {
  if (options.inventory) throw usage('--diff compares with what an appliance remembers; it does not work offline');
  const path = `/api/v1/nodes/${encodeURIComponent(reference)}/rendering/difference`;
  const difference = await (await connect(options)).get<Difference>(path);
  const output = standardOutput();
  if (options.json) return printJson(output, difference);
  const { node, since, files } = difference;
  if (since === null) output.write(`${node} was never given anything; this is what it would get:\n`);
  else if (files.length === 0) output.write(`Nothing has changed for ${node} since ${since.at}.\n`);
  printChangedFiles(output, files, true);
}

async function nodeRendering(reference: string, options: RenderOptions): Promise<RenderedNode> {
  if (options.inventory) return renderedNode(reference, options.inventory, options);
  const connection = await connect(options);
  const path = `/api/v1/nodes/${encodeURIComponent(reference)}/rendering`;
  if (options.secrets === false) return connection.get<RenderedNode>(path);
  return withSecrets(connection, path);
}

/** Whoever may not have them gets the rest, and is told. */
async function withSecrets(connection: Connection, path: string): Promise<RenderedNode> {
  try {
    return await connection.post<RenderedNode>(path, {});
  } catch (error) {
    if (!(error instanceof ColdironError && error.code === 'forbidden')) throw error;
    return connection.get<RenderedNode>(path);
  }
}

async function siteRendering(options: RenderOptions): Promise<RenderedSite> {
  if (options.inventory) return renderedSite(options.inventory, options);
  const connection = await connect(options);
  const { sites } = await connection.get<{ sites: { name: string }[] }>('/api/v1/sites');
  const site = chosenSite(
    sites.map(({ name }) => name),
    options.at,
  );
  return connection.get<RenderedSite>(`/api/v1/sites/${encodeURIComponent(site)}/rendering`);
}

const filesOf = (files: RenderedNode['files']): RenderedFile[] =>
  files.flatMap(({ path, mode, secret, text }) =>
    text === null ? [] : [{ path, text, mode: Number.parseInt(mode, 8), secret }],
  );

function printWritten(output: Output, folder: string, record: FolderRecord, missing: readonly string[]): void {
  const count = `${record.files.length} files`;
  const secrets = record.files.filter(({ secret }) => secret).length;
  const kept = secrets === 0 ? '' : `, ${secrets} of them secret`;
  output.write(`Wrote ${count}${kept} to ${printable(folder)} (inventory revision ${record.inventory_revision}).\n`);
  printMissing(output, missing);
}

function printMissing(output: Output, missing: readonly string[]): void {
  for (const what of missing) output.write(`${styled(output, 'yellow', 'Not in it:')} ${printable(what)}\n`);
}
