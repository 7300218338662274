//===- Coefficients.h - minimax polynomials -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made by tools/scalarmath-check/coefficients/make-header; do not edit. Lowest
// power first; which powers, and on which interval, stands in the script.
//
//===----------------------------------------------------------------------===//

#ifndef TDSL_SCALARMATH_DETAIL_COEFFICIENTS_H
#define TDSL_SCALARMATH_DETAIL_COEFFICIENTS_H

namespace tdsl::scalarmath::detail {

// relative error 2^-28.1796875
inline constexpr float expF32[] = {
    0x1.fffffap-2f, 0x1.555492p-3f,  0x1.555a26p-5f,
    0x1.12397cp-7f, 0x1.694c82p-10f,
};
// relative error 2^-30.9765625
inline constexpr float expm1F32[] = {
    0x1p-1f,        0x1.555554p-3f,  0x1.5554fp-5f,
    0x1.111306p-7f, 0x1.6d4366p-10f, 0x1.9e0be4p-13f,
};
// relative error 2^-26.8515625
inline constexpr float logF32[] = {
    0x1.555574p-2f, -0x1.000236p-2f, 0x1.99929ep-3f, -0x1.546556p-3f,
    0x1.23b8dcp-3f, -0x1.0ebe6cp-3f, 0x1.00c666p-3f, -0x1.2861e8p-4f,
};
// relative error 2^-29.6875
inline constexpr float tanhF32[] = {
    -0x1.55554ap-2f, 0x1.110cfep-3f,  -0x1.b922ccp-5f,
    0x1.5912c4p-6f,  -0x1.9a5224p-8f,
};
// relative error 2^-27.90625
inline constexpr float sinF32[] = {
    -0x1.555546p-3f,
    0x1.110778p-7f,
    -0x1.995402p-13f,
};
// relative error 2^-33
inline constexpr float cosF32[] = {
    0x1.55554ap-5f,
    -0x1.6c0c2ap-10f,
    0x1.99e912p-16f,
};
// relative error 2^-26.0859375
inline constexpr float erfF32[] = {
    0x1.06eba6p-3f, -0x1.8126f4p-2f, 0x1.ce1d3ap-4f,
    -0x1.b6b7dp-6f, 0x1.48524ep-8f,  -0x1.3ec73cp-11f,
};
// relative error of 1 - exp(p): 2^-30.109375
inline constexpr float logErfcF32[] = {
    0x1.65abb6p-13f, -0x1.212698p0f,  -0x1.444b42p-1f, -0x1.bb564ep-4f,
    0x1.9b195p-6f,   -0x1.10a9fap-8f, 0x1.c54d2cp-12f, -0x1.5ecd7p-16f,
};
// relative error 2^-57.875
inline constexpr double expF64[] = {
    0x1.000000000000ap-1,  0x1.55555555554fep-3,  0x1.55555555506bfp-5,
    0x1.1111111126b36p-7,  0x1.6c16c18475faap-10, 0x1.a01a012fed2e6p-13,
    0x1.a01999629942ap-16, 0x1.71df18f7a6667p-19, 0x1.28adf8e7a4278p-22,
    0x1.ad92d1dacb82fp-26,
};
// relative error 2^-61.515625
inline constexpr double expm1F64[] = {
    0x1p-1,
    0x1.5555555555559p-3,
    0x1.555555555554dp-5,
    0x1.111111110f65ap-7,
    0x1.6c16c16c1aaf7p-10,
    0x1.a01a01afffe71p-13,
    0x1.a01a018e10e94p-16,
    0x1.71ddf81bab092p-19,
    0x1.27e5133a9ba33p-22,
    0x1.af5f12249e71p-26,
    0x1.1f1a292963ac9p-29,
};
// relative error 2^-59.5
inline constexpr double atanhF64[] = {
    0x1.5555555555592p-1, 0x1.999999997ff58p-2, 0x1.24924941dc60dp-2,
    0x1.c71c5218e11ccp-3, 0x1.74663bf27f228p-3, 0x1.39a2024cdf709p-3,
    0x1.2f02bc1e5f362p-3,
};
// relative error 2^-60.5625
inline constexpr double tanhF64[] = {
    -0x1.555555555554fp-2,  0x1.1111111110788p-3,   -0x1.ba1ba1b97bf81p-5,
    0x1.664f48590b41dp-6,   -0x1.226e2f064e88ap-7,  0x1.d6d299315f111p-9,
    -0x1.7d8fb3007bbbfp-10, 0x1.34829428fdf1fp-11,  -0x1.e9640c366bc4ep-13,
    0x1.5d516662d4856p-14,  -0x1.46b796a255285p-16,
};
// relative error 2^-57.875
inline constexpr double sinF64[] = {
    -0x1.5555555555548p-3, 0x1.111111110f75ep-7,   -0x1.a01a019bf2583p-13,
    0x1.71de355f414e6p-19, -0x1.ae5e54a96fba7p-26, 0x1.5d8e47357eb3cp-33,
};
// relative error 2^-63.9375
inline constexpr double cosF64[] = {
    0x1.555555555554bp-5,   -0x1.6c16c16c15017p-10, 0x1.a01a019c8f698p-16,
    -0x1.27e4f7f1c5c5dp-22, 0x1.1ee9dbf1a38b8p-29,  -0x1.8fa695257fafdp-37,
};
// relative error 2^-56.328125
inline constexpr double erfF64[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379fdp-2,  0x1.ce2f21a04360dp-4,
    -0x1.b82ce312aaf9bp-6, 0x1.565bcd126a174p-8,   -0x1.c02db49170f23p-11,
    0x1.f9a334094892p-14,  -0x1.f4d31b85f137ap-17, 0x1.b9ed562145d36p-20,
    -0x1.5f8d503d7899p-23, 0x1.fc0217a6305e9p-27,  -0x1.450620ffd440dp-30,
    0x1.2584948f790ffp-34,
};
// relative error of 1 - exp(p): 2^-56.015625
inline constexpr double logErfcF64[] = {
    0x1.ca3f9407aac03p-26,  -0x1.20dd7abae0347p0,   -0x1.45f2c1e00f22bp-1,
    -0x1.a4fd12a1a6676p-4,  0x1.39be56e454633p-6,   0x1.5e49fa4d6fcfcp-13,
    -0x1.ab4bae2598684p-10, 0x1.09df8f5ef207ap-11,  0x1.eade98a48f12bp-15,
    -0x1.1a5748f210e5bp-13, 0x1.44cdb21a39e4dp-14,  -0x1.f38c34ae46101p-16,
    0x1.24ad1f80885a2p-17,  -0x1.0f8758eecad3bp-19, 0x1.925f3df0eb4abp-22,
    -0x1.d8e13b8c7ebf8p-25, 0x1.b01a2acf36686p-28,  -0x1.285bf7ac18191p-31,
    0x1.1f2e44dba7956p-35,  -0x1.5e87a6720013dp-40, 0x1.9522db9f4658cp-46,
};
// relative error 2^-52.34375
inline constexpr double log2F32InF64[] = {
    0x1.71547652b82ffp1,  0x1.ec709dc39cd05p-1, 0x1.2776c516748a8p-1,
    0x1.a61756a6d344ep-2, 0x1.484fa1a3d4a82p-2, 0x1.0bb8d920a394ap-2,
    0x1.f16dc9d23747dp-3,
};
// relative error 2^-52
inline constexpr double exp2F32InF64[] = {
    0x1.62e42fefa3a12p-1,  0x1.ebfbdff82c43p-3,   0x1.c6b08d703e16bp-5,
    0x1.3b2ab6fbd6fc4p-7,  0x1.5d87fe9b93c93p-10, 0x1.4309126b90c1ep-13,
    0x1.ffcb58b6ca482p-17, 0x1.62c14881970c5p-20, 0x1.b671c96e874e4p-24,
    0x1.e3a7e1beadfa9p-28,
};
// relative error 2^-66.28125
inline constexpr double atanhTailF64[] = {
    0x1.9999999999b2fp-2, 0x1.2492492457f3bp-2, 0x1.c71c722d3df3dp-3,
    0x1.745ce9f0b092p-3,  0x1.3b1ee9bbbd74p-3,  0x1.0f801d53ffc57p-3,
    0x1.0e40debeb3976p-3,
};

} // namespace tdsl::scalarmath::detail

#endif // TDSL_SCALARMATH_DETAIL_COEFFICIENTS_H
