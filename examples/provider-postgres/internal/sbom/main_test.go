package main

import (
	"encoding/json"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

// TestDescribe describes a program, and checks that each of its modules is listed once, with its
// relationships.
func TestDescribe(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.0", Path: "example.org/provider/cmd/provider",
		Main: debug.Module{Path: "example.org/provider", Version: "v1.2.3+dirty"},
		Deps: []*debug.Module{
			{Path: "example.org/used", Version: "v0.1.0"},
			{Path: "example.org/old", Version: "v0.2.0", Replace: &debug.Module{Path: "example.org/new", Version: "v0.3.0"}},
			{Path: "example.org/here", Version: "v0.4.0", Replace: &debug.Module{Path: "../here"}},
		},
	}

	text, err := json.Marshal(describe(info, "5ad", time.Unix(0, 0)))
	if err != nil {
		t.Fatal(err)
	}

	var got struct {
		SPDXVersion, DataLicense, SPDXID, Name, DocumentNamespace string
		CreationInfo                                              struct{ Created string }
		Packages                                                  []struct {
			SPDXID, Name, DownloadLocation string
			Checksums                      []struct{ ChecksumValue string }
			ExternalRefs                   []struct{ ReferenceLocator string }
		}
		Relationships []struct{ SPDXElementID, RelationshipType, RelatedSPDXElement string }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}

	if got.SPDXVersion != "SPDX-2.3" || got.DataLicense != "CC0-1.0" || got.SPDXID != "SPDXRef-DOCUMENT" ||
		got.Name == "" || got.DocumentNamespace != "https://example.org/provider/cmd/provider/spdx/5ad" ||
		got.CreationInfo.Created != "1970-01-01T00:00:00Z" {
		t.Errorf("this is no document of SPDX: %s", text)
	}

	var names, locators, ids []string

	for _, p := range got.Packages {
		names, ids = append(names, p.Name), append(ids, p.SPDXID)
		for _, ref := range p.ExternalRefs {
			locators = append(locators, ref.ReferenceLocator)
		}
	}

	if want := []string{
		"example.org/provider", "std", "example.org/used", "example.org/new", "../here",
	}; !slices.Equal(names, want) {
		t.Errorf("its modules are %q, want %q", names, want)
	}

	want := []string{
		"pkg:golang/example.org/provider@v1.2.3%2Bdirty", "pkg:golang/std@1.26.0", "pkg:golang/example.org/used@v0.1.0",
		"pkg:golang/example.org/new@v0.3.0",
	}
	if !slices.Equal(locators, want) {
		t.Errorf("their locators are %q, want %q", locators, want)
	}

	if sums := got.Packages[0].Checksums; len(sums) != 1 || sums[0].ChecksumValue != "5ad" {
		t.Errorf("the checksum of the program is missing: %v", sums)
	}

	related := []string{}
	for _, r := range got.Relationships {
		related = append(related, r.RelatedSPDXElement)
	}

	if !slices.Equal(ids, related) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Errorf("the packages are %q, and these are related: %q", ids, related)
	}
}

// TestCreated takes the time from the environment, so that two builds are the same.
func TestCreated(t *testing.T) {
	built := time.Unix(1000, 0)

	for epoch, want := range map[string]time.Time{"": built, "7": time.Unix(7, 0)} {
		if got, err := created(epoch, built); err != nil || !got.Equal(want) {
			t.Errorf("%q: want %s, got %s (%v)", epoch, want, got, err)
		}
	}

	if _, err := created("yesterday", built); err == nil {
		t.Error("an invalid time was accepted")
	}
}
