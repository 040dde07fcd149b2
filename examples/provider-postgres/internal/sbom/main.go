// Command sbom prints the modules of a program, as SPDX 2.3 in JSON: Go has recorded them in the program
// when it was built, so that no guess and no request is needed.
//
//	go run ./internal/sbom bin/PROGRAM > PROGRAM.spdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// A document is a document of SPDX. Each package is contained in the first.
type document struct {
	SPDXID            string         `json:"SPDXID"`
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creationInfo   `json:"creationInfo"`
	Packages          []pkg          `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type pkg struct {
	SPDXID           string        `json:"SPDXID"`
	Name             string        `json:"name"`
	VersionInfo      string        `json:"versionInfo,omitempty"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	Checksums        []checksum    `json:"checksums,omitempty"`
	ExternalRefs     []externalRef `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// none is the SPDX value for an omitted location: the purl has it.
const none = "NOASSERTION"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "sbom: name one program that Go built")
		os.Exit(2)
	}

	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("cannot read the modules of %s, is it built by Go? %w", program, err)
	}

	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}

	file, err := os.Stat(program)
	if err != nil {
		return err
	}

	when, err := created(os.Getenv("SOURCE_DATE_EPOCH"), file.ModTime())
	if err != nil {
		return err
	}

	sum := sha256.Sum256(content)
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")

	return out.Encode(describe(info, hex.EncodeToString(sum[:]), when))
}

// created returns the creation time of a document: that of SOURCE_DATE_EPOCH, so that the same program
// leads to the same document, or the time when the program was built.
func created(epoch string, built time.Time) (time.Time, error) {
	if epoch == "" {
		return built, nil
	}

	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is no number of seconds: %w", err)
	}

	return time.Unix(seconds, 0), nil
}

// describe returns the document of a program with that SHA-256.
func describe(info *debug.BuildInfo, sum string, when time.Time) document {
	program := module("SPDXRef-Program", info.Main.Path, info.Main.Version)
	program.Checksums = append(program.Checksums, checksum{"SHA256", sum})
	describes := relationship{"SPDXRef-DOCUMENT", "DESCRIBES", program.SPDXID}

	d := document{
		SPDXID: "SPDXRef-DOCUMENT", SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0",
		Name:              info.Path,
		DocumentNamespace: "https://" + info.Path + "/spdx/" + sum,
		CreationInfo: creationInfo{
			when.UTC().Format(time.RFC3339), []string{"Tool: " + info.Main.Path + "/internal/sbom"},
		},
		Packages:      []pkg{program},
		Relationships: []relationship{describes},
	}

	parts := []pkg{module("SPDXRef-Go", "std", strings.TrimPrefix(info.GoVersion, "go"))}

	for i, of := range info.Deps {
		if of.Replace != nil {
			of = of.Replace
		}

		parts = append(parts, module(fmt.Sprint("SPDXRef-Module-", i+1), of.Path, of.Version))
	}

	for _, part := range parts {
		d.Packages = append(d.Packages, part)
		d.Relationships = append(d.Relationships, relationship{program.SPDXID, "CONTAINS", part.SPDXID})
	}

	return d
}

// module returns the package of a module of Go. One in a local folder has no version, and cannot be
// downloaded.
func module(id, path, version string) pkg {
	out := pkg{SPDXID: id, Name: path, VersionInfo: version, DownloadLocation: none}

	if version != "" && version != "(devel)" {
		purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
		out.ExternalRefs = append(out.ExternalRefs, externalRef{"PACKAGE-MANAGER", "purl", purl})
	}

	return out
}
