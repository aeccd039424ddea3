// The changes of an apply as the API shows them.

import type { Static } from 'typebox';
import type { ApplyAnswer } from '../../contract/schemas/inventory.ts';
import type { ObjectChange } from '../../domain/inventory.ts';

export const applyView = (report: {
  dryRun: boolean;
  revision: number;
  declaredRevision: number;
  changes: readonly ObjectChange[];
  warnings: readonly string[];
}): Static<typeof ApplyAnswer> => ({
  dry_run: report.dryRun,
  revision: report.revision,
  declared_revision: report.declaredRevision,
  changes: report.changes.flatMap(({ kind, name, source, change, details }) =>
    change === 'unchanged' ? [] : [{ kind, name, source, change, details: [...details] }],
  ),
  ...(report.warnings.length > 0 && { warnings: [...report.warnings] }),
  unchanged: report.changes.filter(({ change }) => change === 'unchanged').length,
});
