package managed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// NotStoredError says that the API server answered a write with success, and the object in
// its answer lacks what was sent: an admission webhook or policy, or a proxy, dropped it.
type notStoredError struct{ fields []string }

func (e *notStoredError) Error() string {
	return fmt.Sprintf("the API server accepted a write and did not store %s: change the admission webhook, the admission policy or the proxy that drops them; "+
		"nothing is created until they are stored", strings.Join(e.fields, ", "))
}

func isNotStored(err error) bool {
	var e *notStoredError

	return err != nil && errors.As(err, &e)
}

// The longest time until it is tried again whether everything is stored: no event says that a
// policy has changed.
const longestUnstored = 10 * time.Minute

// CheckStored compares the answer to a write with what was sent: without our own annotations
// and our finalizer nothing may be done outside, because nobody would know of it after a
// restart. Annotations of clients may be dropped.
func checkStored(sent map[string]any, desired []string, answer resource.Managed) error {
	var missing []string
	stored := answer.GetAnnotations()
	for key, value := range sent {
		if text, set := value.(string); set && bookkeeping[key] && stored[key] != text {
			missing = append(missing, "annotation "+key)
		}
	}
	if slices.Contains(desired, FinalizerName) && !meta.FinalizerExists(answer, FinalizerName) {
		missing = append(missing, "finalizer "+FinalizerName)
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)

	return &notStoredError{missing}
}
