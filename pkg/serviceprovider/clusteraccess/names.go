package clusteraccess

import (
	"crypto/sha256"
	"crypto/sha3"
	"encoding/base32"
	"encoding/hex"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// limit is how long a label and the name of a request may be.
const limit = 63

// An identity is how a request for a cluster of an object may be called, and the controller
// that calls it so.
type identity struct{ name, controller string }

// identities returns how the requests for a cluster of an object may be called: first as they
// are made now, which is how the library of the platform does, then as earlier versions have
// made them, and then the same of former controllers.
func (r *Requester) identities(reg Registration, request reconcile.Request) []identity {
	all := make([]identity, 0, 2)
	for _, controller := range append([]string{r.controller}, r.former...) {
		for _, name := range []string{
			requestName(controller, request.Name, reg.suffix()),
			bounded(strings.ToLower(controller + "--" + request.Name + "--" + reg.ID)),
		} {
			if !slices.ContainsFunc(all, func(other identity) bool { return other.name == name }) {
				all = append(all, identity{name, controller})
			}
		}
	}

	return all
}

// requestName returns the name of the requests for a cluster of an object, as the platform's
// library has it: what is too long before the suffix is shortened.
func requestName(controller, object, suffix string) string {
	whole, suffix := strings.ToLower(controller+"--"+object), strings.ToLower(suffix)
	room := limit - len("--") - len(suffix)
	if room <= len("--")+hashLength {
		return bounded(whole + "--" + suffix)
	}

	return shortened(whole, room) + "--" + suffix
}

// hashLength is the length of what shortened puts at the end.
const hashLength = 8

// shortened puts a hash in the place of what does not fit, as the platform's library does.
func shortened(s string, room int) string {
	if len(s) <= room {
		return s
	}
	head := s[:room-len("--")-hashLength]
	if cut := strings.TrimRight(head, "-."); strings.Contains(head[len(cut):], ".") {
		head = cut // a dot before a hyphen is no name
	}
	hash := base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

	return head + "--" + hash.EncodeToString(sha3.SumSHAKE128([]byte(s), hashLength*5/8))
}

// purpose returns the label that says what a request is for, as the platform's library has it.
func purpose(reg Registration, request reconcile.Request) string {
	return bounded(strings.TrimLeft(request.Namespace+"."+request.Name+"."+reg.ID, "."))
}

// bounded shortens what would be too long for a label or the name of an object, and
// keeps different ones apart.
func bounded(s string) string {
	if len(s) <= limit {
		return s
	}
	sum := sha256.Sum256([]byte(s))

	return strings.TrimRight(s[:limit-9], "-.") + "-" + hex.EncodeToString(sum[:4])
}
