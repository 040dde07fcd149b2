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

// maxNameLength is the maximum length of a label value and of the name of a request.
const maxNameLength = 63

// identity is a name of a request, and the controller name that is part of it.
type identity struct{ name, controller string }

// identities returns the possible names of the requests for a cluster of an object. The first is the current name,
// which the platform's library would also use. The second is the name that earlier versions used. The others are the
// same names for former names of the controller.
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

// requestName returns the name of the requests for a cluster of an object, as the platform's library builds it. If the
// name is too long, it shortens the part before the suffix.
func requestName(controller, object, suffix string) string {
	whole, suffix := strings.ToLower(controller+"--"+object), strings.ToLower(suffix)
	room := maxNameLength - len("--") - len(suffix)
	if room <= len("--")+hashLength {
		return bounded(whole + "--" + suffix)
	}

	return shortened(whole, room) + "--" + suffix
}

// hashLength is the length of the hash that shortened appends.
const hashLength = 8

// shortened replaces the end of a name that is too long by a hash, as the platform's library does.
func shortened(s string, room int) string {
	if len(s) <= room {
		return s
	}
	head := s[:room-len("--")-hashLength]
	if cut := strings.TrimRight(head, "-."); strings.Contains(head[len(cut):], ".") {
		head = cut // a dot before a hyphen is invalid in a name
	}
	hash := base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

	return head + "--" + hash.EncodeToString(sha3.SumSHAKE128([]byte(s), hashLength*5/8))
}

// purposeLabel returns the label with the purpose of a request, as the platform's library sets it.
func purposeLabel(reg Registration, request reconcile.Request) string {
	return bounded(strings.TrimLeft(request.Namespace+"."+request.Name+"."+reg.ID, "."))
}

// bounded shortens a text that is too long for a label or an object name. Different texts get different results.
func bounded(s string) string {
	if len(s) <= maxNameLength {
		return s
	}
	sum := sha256.Sum256([]byte(s))

	return strings.TrimRight(s[:maxNameLength-9], "-.") + "-" + hex.EncodeToString(sum[:4])
}
