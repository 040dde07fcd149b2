package syncer_test

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/pkg/syncer"
)

// TestRegisterOptions: what is missing, and what no name can be made of, is refused
// before anybody is asked.
func TestRegisterOptions(t *testing.T) {
	nowhere := &rest.Config{Host: "http://127.0.0.1:1"}
	cases := map[string]struct {
		reason string
		o      syncer.RegisterOptions
		want   string
	}{
		"NoVirtual":   {"All of them are required.", syncer.RegisterOptions{Physical: nowhere, Name: "red", TargetNamespace: "a"}, "are required"},
		"NoHost":      {"All of them are required.", syncer.RegisterOptions{Virtual: nowhere, Name: "red", TargetNamespace: "a"}, "are required"},
		"NoName":      {"All of them are required.", syncer.RegisterOptions{Virtual: nowhere, Physical: nowhere, TargetNamespace: "a"}, "are required"},
		"NoNamespace": {"All of them are required.", syncer.RegisterOptions{Virtual: nowhere, Physical: nowhere, Name: "red"}, "are required"},
		"Name":        {"It is a part of every host name.", syncer.RegisterOptions{Virtual: nowhere, Physical: nowhere, Name: "Red_Team", TargetNamespace: "a"}, `Name "Red_Team" is no part of a name`},
		"Namespace":   {"It is a namespace.", syncer.RegisterOptions{Virtual: nowhere, Physical: nowhere, Name: "red", TargetNamespace: "a/b"}, `TargetNamespace "a/b" is no part of a name`},
		"Nobody":      {"Then the virtual cluster is asked.", syncer.RegisterOptions{Virtual: nowhere, Physical: nowhere, Name: "red", TargetNamespace: "a"}, "kube-system of the virtual cluster"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := syncer.NewRegisterContext(t.Context(), tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
