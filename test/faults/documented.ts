// The catalogue with the results of the last recorded runs, for docs/diagnosis.md and for the table of answers.

import type { DocumentedFault, DocumentedFaults } from '../../appliance/trail/diagnosis/document.ts';
import { CATALOGUE, NOT_INJECTED, NOT_RECORDED } from './catalogue.ts';
import type { Fault } from './fault.ts';
import { answerTo, recordedIds } from './recordings.ts';
import { isRight } from './result.ts';
import { type RecordedResult, recordedResults } from './results.ts';

export function documentedFaults(): DocumentedFaults {
  const results = recordedResults();
  const recorded = new Set(recordedIds());
  return {
    faults: CATALOGUE.map((fault) => documented(fault, recorded.has(fault.id), results[fault.id])),
    notInjected: NOT_INJECTED,
  };
}

function documented(fault: Fault, isRecorded: boolean, result: RecordedResult | undefined): DocumentedFault {
  const { id, area, what, right } = fault;
  return {
    ...{ id, area, what, causes: right },
    ...(isRecorded ? judged(fault) : unrecorded(fault, result)),
    recovered: recovery(fault, result),
    seconds: result?.seconds == null ? '' : String(result.seconds),
  };
}

type Judged = Pick<DocumentedFault, 'answer' | 'right' | 'harmful'>;

function judged(fault: Fault): Judged {
  const first = answerTo(fault.id).diagnosis?.id ?? null;
  return {
    answer: first === null ? 'no problem found' : `\`${first}\``,
    right: isRight(fault, first) ? 'yes' : 'no',
    harmful: first !== null && fault.harmful.includes(first),
  };
}

function unrecorded({ id, refused }: Fault, result: RecordedResult | undefined): Judged {
  if (refused !== undefined && result?.answer === 'refused')
    return { answer: 'the command is refused with the reason', right: 'yes', harmful: false };
  return { answer: NOT_RECORDED[id] ?? 'not recorded yet', right: 'not known', harmful: false };
}

function recovery({ recovery: { kind, ...more } }: Fault, result: RecordedResult | undefined): string {
  if (kind === 'none' && 'why' in more) return `nothing to recover: ${more.why}`;
  if (result === undefined || result.recovered === null) return 'not tried';
  return result.recovered ? 'goes on' : 'does not go on';
}

/** One line for each recording: the first answer, its confidence, and the alternatives in their order. */
export const answersTable = (): string =>
  recordedIds()
    .map((id) => {
      const { diagnosis, alternatives } = answerTo(id);
      const first = diagnosis === null ? 'no problem found' : `${diagnosis.id} (${diagnosis.confidence})`;
      return `${[`${id}: ${first}`, ...alternatives.map((cause) => cause.id)].join(', ')}\n`;
    })
    .join('');
