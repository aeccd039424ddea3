import { readFileSync } from 'node:fs';
import { ColdironError } from '../domain/errors.ts';
import { shown } from '../domain/parsed.ts';
import { printChanges } from './apply.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { parseCsv } from './csv.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput } from './terminal.ts';

const NEEDED = ['name', 'mac', 'network', 'sku'] as const;
const OPTIONAL = [
  'address',
  'interface',
  'switch',
  'switch_port',
  'profile',
  'cluster',
  'uuid',
  'serial',
  'bmc_address',
  'bmc_driver',
  'bmc_username',
  'bmc_password_file',
] as const;
type Column = (typeof NEEDED)[number] | (typeof OPTIONAL)[number];
const COLUMNS: readonly string[] = [...NEEDED, ...OPTIONAL];

export async function importNodes(
  file: string,
  options: ConnectionOptions & { readonly dryRun?: boolean },
): Promise<void> {
  const { nodes, lines } = nodesFromCsv(readText(file), file);
  const connection = await connect(options);
  const body = { nodes, dry_run: options.dryRun === true };
  const answer = await operate(connection, 'importNodes', { body }).catch((error: unknown) => {
    throw error instanceof ColdironError ? placedInCsv(error, file, lines) : error;
  });
  const output = standardOutput();
  if (options.json) printJson(output, answer);
  else printChanges(output, answer);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ColdironError('usage', `cannot read ${file}: ${(error as Error).message}`);
  }
}

/** One node document per row, in the form of the inventory files, and the line that each comes from. */
export function nodesFromCsv(text: string, file: string): { nodes: Record<string, unknown>[]; lines: number[] } {
  const rows = parseCsv(text);
  if (!rows.ok) throw new ColdironError('invalid_inventory', `${file}: ${rows.reason}`);
  const [head, ...body] = rows.value;
  const columns = (head?.cells ?? []).map((cell) => cell.trim().toLowerCase());
  const problems = [
    ...NEEDED.filter((name) => !columns.includes(name)).map((name) => `${file}: line 1: the column ${name} is missing`),
    ...columns
      .filter((name) => !COLUMNS.includes(name))
      .map((name) => `${file}: line 1: unknown column ${shown(name)}; known columns: ${COLUMNS.join(', ')}`),
    ...columns
      .filter((name, at) => columns.indexOf(name) !== at)
      .map((name) => `${file}: line 1: the column ${shown(name)} occurs twice`),
    ...body
      .filter((row) => row.cells.length !== columns.length)
      .map((row) => `${file}: line ${row.line}: ${row.cells.length} cells, but the first line has ${columns.length}`),
  ];
  if (problems.length > 0) throw new ColdironError('invalid_inventory', `${file} cannot be imported:`, problems);
  const nodes = body.map((row) => {
    const cell = (column: Column): string | undefined => row.cells[columns.indexOf(column)]?.trim() || undefined;
    return nodeDocument(cell);
  });
  return { nodes, lines: body.map(({ line }) => line) };
}

/** The appliance names fields of the documents; this translates them to lines and columns of the CSV file. */
export function placedInCsv(error: ColdironError, file: string, lines: readonly number[]): ColdironError {
  const placed = (text: string): string =>
    text.replaceAll(
      /request: nodes\[(\d+)\](?:\.([a-z0-9_.[\]]*[a-z0-9_\]]))?/g,
      (whole, index: string, field?: string) => {
        const line = lines[Number(index)];
        if (line === undefined) return whole;
        const column = field === undefined ? undefined : columnOf(field);
        return `${file}: line ${line}${column === undefined ? '' : `, column ${column}`}`;
      },
    );
  return new ColdironError(error.code, placed(error.message), error.details.map(placed));
}

const columnOf = (field: string): string =>
  OTHER_NAMES[field] ?? field.replace(/^interfaces\[0\]\./, '').replace(/^bmc\./, 'bmc_');

const OTHER_NAMES: Readonly<Record<string, string>> = {
  'interfaces[0].name': 'interface',
  'interfaces[0].switch.name': 'switch',
  'interfaces[0].switch.port': 'switch_port',
};

function nodeDocument(cell: (column: Column) => string | undefined): Record<string, unknown> {
  const bmc = cell('bmc_address');
  return withoutUndefined({
    name: cell('name'),
    sku: cell('sku'),
    profile: cell('profile'),
    cluster: cell('cluster'),
    uuid: cell('uuid'),
    serial: cell('serial'),
    interfaces: [
      withoutUndefined({
        name: cell('interface') ?? 'eth0',
        mac: cell('mac'),
        network: cell('network'),
        address: cell('address'),
        switch: switchOf(cell('switch'), cell('switch_port')),
      }),
    ],
    bmc:
      bmc === undefined
        ? undefined
        : withoutUndefined({
            address: bmc,
            driver: cell('bmc_driver') ?? 'ipmi',
            username: cell('bmc_username'),
            password_file: cell('bmc_password_file'),
          }),
  });
}

/** In the form of the inventory files; what is missing is left out, and the appliance says so. */
export const switchOf = (name: string | undefined, port: string | undefined): Record<string, unknown> | undefined =>
  name === undefined && port === undefined ? undefined : withoutUndefined({ name, port });

const withoutUndefined = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
