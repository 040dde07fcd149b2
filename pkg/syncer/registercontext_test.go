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
	server := newImpostor(t)
	server.who.Store("down")
	silent := &rest.Config{Host: server.URL + "/base"}
	cases := map[string]struct {
		reason string
		o      syncer.RegisterOptions
		want   string
		asked  int32 // who it is
	}{
		"NoVirtual":   {"It is required.", syncer.RegisterOptions{Physical: silent, Name: "red", TargetNamespace: "a"}, "are required", 0},
		"NoHost":      {"Without one it is that of the pod, and this is none.", syncer.RegisterOptions{Virtual: silent, Name: "red", TargetNamespace: "a"}, "without Physical the host is the cluster of the pod", 0},
		"NoName":      {"It is required.", syncer.RegisterOptions{Virtual: silent, Physical: silent, TargetNamespace: "a"}, "are required", 0},
		"NoNamespace": {"With a host it is required.", syncer.RegisterOptions{Virtual: silent, Physical: silent, Name: "red"}, "are required", 0},
		"Name":        {"It is a part of every host name.", syncer.RegisterOptions{Virtual: silent, Physical: silent, Name: "Red_Team", TargetNamespace: "a"}, `Name "Red_Team" is no part of a name`, 0},
		"Namespace":   {"It is a namespace.", syncer.RegisterOptions{Virtual: silent, Physical: silent, Name: "red", TargetNamespace: "a/b"}, `TargetNamespace "a/b" is no part of a name`, 0},
		"Nobody":      {"Then the virtual cluster is asked.", syncer.RegisterOptions{Virtual: silent, Physical: silent, Name: "red", TargetNamespace: "a"}, "kube-system of the virtual cluster", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := syncer.NewRegisterContext(t.Context(), tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.want)
			}
			if asked := server.asked.Swap(0); asked != tc.asked {
				t.Errorf("%s\nasked %d times who it is, want %d", tc.reason, asked, tc.asked)
			}
		})
	}
}
