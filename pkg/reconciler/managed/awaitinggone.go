package managed

import "fmt"

// whyKept returns why, and until when, the finalizer stays on a deleted object although its external resource is not
// found or has another owner. The text does not change while the object waits, so that it is written once.
func (p *recovery) whyKept() string {
	switch {
	case p.searchedFirst:
		return fmt.Sprintf("%s; until %s after the election the object stays", textRecordLost, p.recoveryWindow)
	case p.observation.ResourceExists:
		return fmt.Sprintf("the external resource was created or adopted for the object, "+
			"and is not the object's by its stamp: looking again, for %s or until the creation grace period is over%s",
			absenceGrace, textKept)
	case p.recoveredUnobserved:
		return "what was created is found by its attempt, and not by its external name: waiting until it is, or until " +
			"neither finds it" + textKept
	case p.recoveryGrace > 0:
		return fmt.Sprintf("what a creation led to is not known, or was never found: looking for it until the recovery "+
			"window (%s) is over%s", p.recoveryWindow, textKept)
	case p.creationGrace() > 0:
		return fmt.Sprintf("the external resource was created lately, and is not found: waiting until the creation grace "+
			"period (%s) is over%s", p.r.grace, textKept)
	default:
		return fmt.Sprintf("the external resource is not found, and no Delete explains that: looking once more after %s%s",
			absenceGrace, textKept)
	}
}

const textKept = "; until then the object stays"
