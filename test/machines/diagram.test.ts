import { describe, expect, it } from 'vitest';
import { LIFECYCLE_STATES } from '../../appliance/domain/lifecycle.ts';
import { lifecycleDiagram, lifecycleDocument, lifecycleTable } from '../../appliance/machines/diagram.ts';
import { TRANSITIONS } from '../../appliance/machines/transitions.ts';

describe('the lifecycle diagram', () => {
  const lines = lifecycleDiagram().split('\n');

  it('is a Mermaid state diagram in which every line is an arrow or part of the one note', () => {
    expect(lines[0]).toBe('stateDiagram-v2');
    const note = lines.indexOf('  note right of quarantined');
    expect(lines.slice(note + 1)).toEqual([
      '    quarantine: from every state but quarantined and removed',
      '  end note',
      '',
    ]);
    for (const line of lines.slice(1, note)) expect(line).toMatch(/^ {2}(\[\*\]|[a-z]+) --> (\[\*\]|[a-z]+)( : .+)?$/);
  });

  it('draws every row of the table that leads to a named state', () => {
    for (const row of TRANSITIONS.filter((each) => each.to !== 'resume' && each.event !== 'quarantine')) {
      const arrow = lines.find((line) => line.startsWith(`  ${row.from} --> ${row.to} : `));
      expect(arrow, `${row.from} + ${row.event}`).toContain(row.if ? `${row.event} [${row.if}]` : row.event);
    }
  });

  it('draws an arrow back to every state that rescue may have interrupted', () => {
    const back = lines.filter((line) => line.startsWith('  rescue --> ')).map((line) => line.split(' ')[4]);
    expect(back.sort()).toEqual(['active', 'enrolling', 'failed', 'ready', 'registered']);
  });

  it('starts with the two ways into the inventory and ends where nothing follows', () => {
    expect(lines).toContain('  [*] --> discovered : seen on the network');
    expect(lines).toContain('  [*] --> registered : declared in the inventory');
    expect(lines.filter((line) => line.endsWith('--> [*]'))).toEqual(['  removed --> [*]']);
  });
});

describe('the lifecycle table', () => {
  const rows = lifecycleTable().trimEnd().split('\n');
  const cellsOf = (state: string) => (rows.find((row) => row.startsWith(`| ${state} |`)) ?? '').split(' | ');

  it('has one row per state, with text in every cell', () => {
    expect(rows.slice(2).map((row) => row.split(' ')[1])).toEqual([...LIFECYCLE_STATES]);
    for (const row of rows) expect(row.slice(2, -2).split(' | ').filter(Boolean)).toHaveLength(6);
  });

  it.each([
    ['commissioning', '20 min → failed(commission)'],
    ['deploying', 'as the profile says → failed(deploy)'],
    ['enrolling', '15 min → failed(enroll)'],
    ['releasing', '60 min → release-without-erase, then failed(release)'],
    ['rescue', '4 h → the state before'],
    ['active', 'none'],
  ])('says what ends %s: %s', (state, deadline) => {
    expect(cellsOf(state)[4]).toBe(deadline);
  });
});

describe('the lifecycle page', () => {
  it('holds the table, the diagram in a fence of its own and all transitions, and ends with a line break', () => {
    const page = lifecycleDocument();
    expect(page).toContain(lifecycleTable());
    expect(page).toContain(`\n\`\`\`mermaid\n${lifecycleDiagram()}\`\`\`\n`);
    const transitions = page
      .slice(page.indexOf('## Transitions'))
      .split('\n')
      .filter((line) => line.startsWith('|'));
    expect(transitions).toHaveLength(TRANSITIONS.length + 2);
    expect(page.endsWith('|\n')).toBe(true);
  });
});
