import type { Answer } from '../../contract/wire.ts';
import { type ApplianceProblem, degrades } from '../../domain/appliance-problem.ts';
import { instantText } from '../../domain/instant.ts';
import { plainLine } from '../../domain/plain-line.ts';

export const problemView = ({
  id,
  subject,
  since,
  words,
  nextStep,
}: ApplianceProblem): Answer<'listApplianceProblems'>['problems'][number] => ({
  id,
  severity: degrades({ id }) ? 'error' : 'warning',
  subject: plainLine(subject),
  since: instantText(since),
  words: plainLine(words),
  next_step: plainLine(nextStep),
});
