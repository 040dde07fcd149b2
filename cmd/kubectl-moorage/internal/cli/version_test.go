package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	if got := versionOf(&debug.BuildInfo{Main: debug.Module{Version: "v0.4.0"}}, true); got.Version != "v0.4.0" {
		t.Errorf("the version of a release is %+v", got)
	}

	if got := versionOf(nil, false); got.Version != "devel" {
		t.Errorf("the version without information is %+v", got)
	}

	if got := runWith(t, "version"); got.code != 0 || !strings.HasPrefix(got.out, "kubectl moorage devel, go") {
		t.Errorf("got %+v", got)
	}

	if got := runWith(t, "version", "-o", "json"); got.code != 0 || !strings.Contains(got.out, `"kind": "Version"`) {
		t.Errorf("got %+v", got)
	}
}
