package syncer_test

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/syncer"
)

// TestRegisterOptionsErrors verifies that missing options and invalid names are errors
// before any request is sent.
func TestRegisterOptionsErrors(t *testing.T) {
	server := newFakeAPIServer(t)
	server.identity.Store("down")
	silent := &rest.Config{Host: server.URL + "/base"}
	cases := map[string]struct {
		reason string
		o      syncer.RegisterOptions
		want   string
		asked  int32 // who it is
	}{
		"NoVirtual": {
			"It is required.", syncer.RegisterOptions{Physical: silent, Name: "red", TargetNamespace: "a"}, "are required", 0,
		},
		"NoHost": {
			"Without Physical the process must run in a pod.",
			syncer.RegisterOptions{Virtual: silent, Name: "red", TargetNamespace: "a"},
			"without Physical the host is the cluster of the pod", 0,
		},
		"NoName": {
			"It is required.", syncer.RegisterOptions{Virtual: silent, Physical: silent, TargetNamespace: "a"}, "are required",
			0,
		},
		"NoNamespace": {
			"With Physical it is required.", syncer.RegisterOptions{Virtual: silent, Physical: silent, Name: "red"},
			"are required", 0,
		},
		"Name": {
			"It is part of every host name.",
			syncer.RegisterOptions{Virtual: silent, Physical: silent, Name: "Red_Team", TargetNamespace: "a"},
			`Name "Red_Team" is not a valid name`, 0,
		},
		"Namespace": {
			"It must be a valid namespace.",
			syncer.RegisterOptions{Virtual: silent, Physical: silent, Name: "red", TargetNamespace: "a/b"},
			`TargetNamespace "a/b" is not a valid name`, 0,
		},
		"Unreachable": {
			"With valid options the identity is read.",
			syncer.RegisterOptions{Virtual: silent, Physical: silent, Name: "red", TargetNamespace: "a"},
			"kube-system of the virtual cluster", 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := syncer.NewRegisterContext(t.Context(), tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
			}
			if asked := server.identityReads.Swap(0); asked != tc.asked {
				t.Errorf("%s\n%d reads of the identity, want %d", tc.reason, asked, tc.asked)
			}
		})
	}
}
