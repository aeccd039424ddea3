// Certificates of the appliance that expire: nodes and operators refuse a server whose certificate has expired.

import type { FoundProblem } from '../domain/appliance-problem.ts';
import { DAY, type Instant, instantText } from '../domain/instant.ts';

export interface OwnCertificate {
  /** `node API`, `management API`. */
  readonly of: string;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** What renews it. */
  readonly nextStep: string;
}

/** The node API renews its own when a third of the lifetime is left. */
const soon = ({ notBefore, notAfter }: OwnCertificate): number => Math.min(14 * DAY, (notAfter - notBefore) / 6);

export const certificateProblems = (certificates: readonly OwnCertificate[], now: Instant): FoundProblem[] =>
  certificates.flatMap((certificate): FoundProblem[] => {
    const { of, notAfter, nextStep } = certificate;
    if (notAfter > now + soon(certificate)) return [];
    const isOver = notAfter <= now;
    const words = isOver
      ? `the certificate of the ${of} expired at ${instantText(notAfter)}: its clients refuse it`
      : `the certificate of the ${of} expires at ${instantText(notAfter)}`;
    return [{ id: isOver ? 'certificate-expired' : 'certificate-expiring', subject: of, words, nextStep, notAfter }];
  });
