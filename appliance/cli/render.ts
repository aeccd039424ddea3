// `coldiron render`: what a node or a whole site is given, as a folder, on the screen, or against what was given last.

import { join } from 'node:path';
import type { RenderedNode, RenderedSite } from '../contract/schemas/rendering.ts';
import type { FolderRecord } from '../deliveries/folder-record.ts';
import { writeFolder } from '../deliveries/write-folder.ts';
import { ColdironError } from '../domain/errors.ts';
import { folderLinks } from '../render/node-folder.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import { chosenSite } from './chosen-site.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, isSelecting, type SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
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

export async function render(first: string, second: string | undefined, options: RenderOptions): Promise<void> {
  if (options.site) {
    if (second !== undefined || options.diff) throw usage('render --site takes a folder and nothing else');
    return renderSiteInto(first, options);
  }
  const { site: _whole, at, ...rest } = options;
  const selection = { ...rest, ...(at !== undefined && { site: at }) };
  if (isSelecting(selection)) {
    if (second !== undefined || options.diff) throw usage('render with a selector takes a folder and nothing else');
    return renderSelection(first, selection, options);
  }
  if (options.diff) {
    if (second !== undefined) throw usage('render --diff shows differences and writes no folder');
    return showDifference(first, options);
  }
  if (second === undefined) return showNode(first, options);
  return renderNodeInto(first, second, options);
}

const usage = (message: string): ColdironError => new ColdironError('usage', message);

/** Each node gets a folder of its own, named after it. */
async function renderSelection(folder: string, selection: SelectionOptions, options: RenderOptions): Promise<void> {
  if (options.inventory) throw usage('selectors ask an appliance; offline, render one node or a whole site');
  const undertaking = { verb: 'render', destroys: null };
  const nodes = await chosenNodes(await connect(options), [], selection, undertaking);
  for (const node of nodes ?? []) await renderNodeInto(node, join(folder, node), options);
}

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

async function showDifference(reference: string, options: RenderOptions): Promise<void> {
  if (options.inventory) throw usage('--diff compares with what an appliance remembers; it does not work offline');
  const difference = await operate(await connect(options), 'compareRendering', { params: { node: reference } });
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
  if (options.secrets === false) return operate(connection, 'previewRendering', { params: { node: reference } });
  return withSecrets(connection, { node: reference });
}

/** Whoever may not have them gets the rest, and is told. */
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
