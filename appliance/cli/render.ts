// `coldiron render`: the files of a node or a site, written to a folder, printed, or compared with the last delivery.

import { join } from 'node:path';
import type { RenderedNode, RenderedSite } from '../contract/schemas/rendering.ts';
import type { Answer } from '../contract/wire.ts';
import type { FolderRecord } from '../deliveries/folder-record.ts';
import { writeFolder } from '../deliveries/write-folder.ts';
import { ColdironError } from '../domain/errors.ts';
import { folderLinks } from '../render/node-folder.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import { chosenSite } from './chosen-site.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, isSelecting, type SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes, showNodes } from './read-nodes.ts';
import { renderedNode, renderedSite } from './render-offline.ts';
import { printChangedFiles } from './rendering-changes.ts';
import { type Output, printable, printJson, standardOutput, styled } from './terminal.ts';

export interface RenderOptions extends ConnectionOptions, Omit<SelectionOptions, 'site'> {
  readonly inventory?: string[];
  readonly templates?: string;
  readonly site?: boolean;
  readonly at?: string;
  readonly diff?: boolean;
  readonly force?: boolean;
  /** False with --no-secrets. */
  readonly secrets?: boolean;
}

export async function render(
  first: string | undefined,
  second: string | undefined,
  options: RenderOptions,
): Promise<void> {
  if (options.site) {
    if (first === undefined || second !== undefined || options.diff) {
      throw usage('render --site takes one folder and no --diff');
    }
    return renderSiteInto(first, options);
  }
  const { site: _whole, at, ...rest } = options;
  const selection = { ...rest, ...(at !== undefined && { site: at }) };
  const selecting = isSelecting(selection);
  if (options.inventory && (selecting || options.dryRun)) {
    throw usage('selectors and --dry-run need an appliance; offline, render one node or a whole site');
  }
  if (options.diff) {
    if (second !== undefined || (selecting && first !== undefined)) {
      throw usage('render --diff shows differences and writes no folder');
    }
    return showDifferences(first === undefined ? [] : [first], selection, options);
  }
  if (selecting) {
    if (first === undefined || second !== undefined) throw usage('render with a selector takes one folder');
    return renderSelection(first, selection, options);
  }
  if (first === undefined) throw usage('name a node, or select some; or render a whole site with --site');
  if (options.dryRun) return void (await chosenNodes(await connect(options), [first], selection, RENDER));
  if (second === undefined) return showNode(first, options);
  return renderNodeInto(first, second, options);
}

const usage = (message: string): ColdironError => new ColdironError('usage', message);

const RENDER = { verb: 'render', destroys: null };

/** Each node gets its own folder, named after it. */
async function renderSelection(folder: string, selection: SelectionOptions, options: RenderOptions): Promise<void> {
  const nodes = await chosenNodes(await connect(options), [], selection, RENDER);
  if (nodes === null) return;
  await showNodes(nodes, false, options, {
    read: (node) => writtenNode(node, join(folder, node), options),
    print: printWritten,
  });
}

const renderNodeInto = (reference: string, folder: string, options: RenderOptions): Promise<void> =>
  showNodes([reference], true, options, {
    read: (node) => writtenNode(node, folder, options),
    print: printWritten,
  });

interface Written extends FolderRecord {
  readonly folder: string;
  readonly missing: readonly string[];
}

async function writtenNode(reference: string, folder: string, options: RenderOptions): Promise<Written> {
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
  return { folder, ...record, missing: rendering.missing };
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
    const keys = 'keys: they are created for one node at a time, with coldiron render NODE DIR';
    printWritten(output, { folder, ...record, missing: [keys, ...missing] });
  }
}

/** Without a folder no secrets are created. */
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

async function showDifferences(
  names: readonly string[],
  selection: SelectionOptions,
  options: RenderOptions,
): Promise<void> {
  if (options.inventory)
    throw usage('--diff compares with the last delivery, which an appliance stores; it does not work offline');
  const connection = await connect(options);
  await readNodes(connection, names, selection, {
    verb: 'render --diff',
    read: (node) => operate(connection, 'compareRendering', { params: { node } }),
    print: printDifference,
  });
}

function printDifference(output: Output, { node, since, files }: Answer<'compareRendering'>): void {
  if (since === null) output.write(`${node} has not received any files yet; it would receive:\n`);
  else if (files.length === 0) output.write(`Nothing has changed for ${node} since ${since.at}.\n`);
  printChangedFiles(output, files, true);
}

async function nodeRendering(reference: string, options: RenderOptions): Promise<RenderedNode> {
  if (options.inventory) return renderedNode(reference, options.inventory, options);
  const connection = await connect(options);
  if (options.secrets === false) return operate(connection, 'previewRendering', { params: { node: reference } });
  return withSecrets(connection, { node: reference });
}

/** A caller without permission for secrets gets the other files; `missing` says what is left out. */
async function withSecrets(connection: Connection, params: { node: string }): Promise<RenderedNode> {
  try {
    return await operate(connection, 'createRendering', { params });
  } catch (error) {
    if (!(error instanceof ColdironError && error.code === 'forbidden')) throw error;
    return operate(connection, 'previewRendering', { params });
  }
}

async function siteRendering(options: RenderOptions): Promise<RenderedSite> {
  if (options.inventory) return renderedSite(options.inventory, options);
  const connection = await connect(options);
  const { sites } = await operate(connection, 'listSites', {});
  const site = chosenSite(
    sites.map(({ name }) => name),
    options.at,
  );
  return operate(connection, 'renderSite', { params: { site } });
}

const filesOf = (files: RenderedNode['files']): RenderedFile[] =>
  files.flatMap(({ path, mode, secret, text }) =>
    text === null ? [] : [{ path, text, mode: Number.parseInt(mode, 8), secret }],
  );

function printWritten(output: Output, { folder, files, inventory_revision: revision, missing }: Written): void {
  const secrets = files.filter(({ secret }) => secret).length;
  const kept = secrets === 0 ? '' : `, ${secrets} of them secret`;
  output.write(`Wrote ${files.length} files${kept} to ${printable(folder)} (inventory revision ${revision}).\n`);
  printMissing(output, missing);
}

function printMissing(output: Output, missing: readonly string[]): void {
  for (const what of missing) output.write(`${styled(output, 'yellow', 'Left out:')} ${printable(what)}\n`);
}
