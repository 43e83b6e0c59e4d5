// A box of rock, 12 x 10 x 7 km, with the lower half of an ellipsoid of sediments in it, 5 x 3 x 0.8 km.
SetFactory("OpenCASCADE");
Box(1) = {-6000, -5000, -7000, 12000, 10000, 7000};
Sphere(2) = {0, 0, 0, 1000};
Dilate { {0, 0, 0}, {2.5, 1.5, 0.8} } { Volume{2}; }
below() = BooleanIntersection{ Volume{2}; Delete; }{ Volume{1}; };
BooleanFragments{ Volume{1}; Delete; }{ Volume{below()}; Delete; }
e = 10;
// the box that Gmsh puts around an ellipsoid is larger than the ellipsoid, but does not reach as deep as the rock
sediments() = Volume In BoundingBox{-6000 - e, -5000 - e, -1000, 6000 + e, 5000 + e, 1000};
rock() = Volume{:};
rock() -= sediments();
Physical Volume("sediments") = {sediments()};
Physical Volume("rock") = {rock()};
outside() = CombinedBoundary{ Volume{:}; };
ground() = Surface In BoundingBox{-6000 - e, -5000 - e, -e, 6000 + e, 5000 + e, e};
outside() -= ground();
Physical Surface("ground") = {ground()};
Physical Surface("sides") = {outside()};
// edges of 350 m in the sediments, growing with distance
Mesh.MeshSizeExtendFromBoundary = 0; Mesh.MeshSizeFromPoints = 0; Mesh.MeshSizeFromCurvature = 0;
Field[1] = MathEval;
Field[1].F = "350 + 750 * Min(1, Max(0, Sqrt((x/2500)^2 + (y/1500)^2 + (z/800)^2) - 1) / 2)";
Background Field = 1;
